// Parameters by their scope, and the shortest patterns that name some of them.

export interface Named {
  name: string;
  shape: string;
  count: number;
}

export interface Scope {
  /** Dotted path; unique in the tree. */
  key: string;
  label: string;
  children: Scope[];
  /** All parameters in it, at any depth. */
  parameters: Named[];
  /** Of a parameter itself. */
  leaf?: Named;
}

/** The tree of the parameters, in their order; a scope with one child is drawn as one line. */
export function scopesOf(parameters: Named[], prefix = ""): Scope[] {
  const groups = new Map<string, Named[]>();
  for (const parameter of parameters) {
    const [head = ""] = parameter.name.slice(prefix.length).split(".");
    groups.set(head, [...(groups.get(head) ?? []), parameter]);
  }
  return [...groups].map(([head, inside]) => {
    const key = `${prefix}${head}`;
    const [only] = inside;
    if (inside.length === 1 && only) {
      return { key: only.name, label: only.name.slice(prefix.length), children: [], parameters: inside, leaf: only };
    }
    const children = scopesOf(inside, `${key}.`);
    const [child] = children;
    if (children.length === 1 && child && !child.leaf) {
      return { ...child, label: `${head}.${child.label}` };
    }
    return { key, label: head, children, parameters: inside };
  });
}

/** Whether a name matches one of the patterns, as Python's fnmatchcase does. */
export function matches(name: string, patterns: string[]): boolean {
  return patterns.some((pattern) => toExpression(pattern).test(name));
}

/** Patterns for the chosen names, whole scopes where they can be named: nothing for all of them, or for none beside adapters. */
export function patternsFor(names: string[], chosen: Set<string>, adapters = false): string[] {
  if (names.every((name) => chosen.has(name))) return adapters ? ["*"] : [];
  if (adapters && chosen.size === 0) return [];
  const parameters = names.map((name) => ({ name, shape: "", count: 0 }));
  const of = (scopes: Scope[]): string[] =>
    scopes.flatMap((scope) => {
      if (!scope.parameters.every(({ name }) => chosen.has(name))) return of(scope.children);
      return [scope.leaf ? scope.leaf.name : `${scope.key}.*`];
    });
  const found = of(scopesOf(parameters));
  // Nothing at all cannot be trained: a name that matches nothing says so at the field.
  return found.length ? found : ["(none)"];
}

function toExpression(pattern: string): RegExp {
  const source = pattern.replace(/\[(!?)(\]?[^\]]*)\]|[\s\S]/g, (part, not?: string, inside?: string) => {
    if (part === "*") return "[\\s\\S]*";
    if (part === "?") return "[\\s\\S]";
    if (inside) return `[${not ? "^" : ""}${characters(inside)}]`;
    return part.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${source}$`);
}

/** The characters between brackets; a range that ends before it begins has none, and would be no expression. */
function characters(inside: string): string {
  const ranges = inside.replace(/([\s\S])-([\s\S])/g, (range, low: string, high: string) => (low > high ? "" : range));
  return ranges.replace(/[\\\]^[]/g, "\\$&");
}
