// Finds nodes by name, operator, layer, shape and type, and groups by their path.

import type { GraphData, Item } from "./graph_data";

export class SearchIndex {
  private texts: string[] | null = null;
  private paths: string[] | null = null;
  private computed: Set<number> | null = null;

  constructor(private readonly data: GraphData) {}

  /** The groups with every word of the query in their path, then such nodes, in the order of the graph. */
  find(query: string): Item[] {
    const words = plain(query).split(" ").filter(Boolean);
    if (words.length === 0) return [];
    this.texts ??= [...this.data.names.keys()].map((node) => this.textOf(node));
    this.paths ??= this.data.groupPaths.map(plain);
    const has = (text: string) => words.every((word) => text.includes(word));
    const found: Item[] = [];
    this.paths.forEach((path, group) => {
      // All groups in it have its path, too: the outermost is what is meant.
      if (group > 0 && has(path) && !has(this.paths![this.data.groupParents[group]!]!)) found.push(-group);
    });
    this.texts.forEach((text, node) => {
      if (has(text)) found.push(node);
    });
    return found;
  }

  private textOf(node: number): string {
    const { data } = this;
    const parts = [data.names[node]!, data.op(node), data.layer(node)];
    // What another node computes has its name, by which this one is not found.
    this.computed ??= new Set([...data.names.keys()].flatMap((each) => [...data.outputs(each)]));
    for (const value of data.inputs(node)) {
      if (value >= 0) parts.push(this.computed.has(value) ? "" : data.valueNames[value]!, data.valueType(value));
    }
    for (const value of data.outputs(node)) if (value >= 0) parts.push(data.valueNames[value]!, data.valueType(value));
    return plain(parts.join(" "));
  }
}

/** In small letters, and shapes as people type them: "16 × 8", "16x8" and "16,8" are one. */
export function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/(?<=[\w?])\s*[×x*,]\s*(?=\d)|(?<=\d)\s*[×x*,]\s*(?=[\w?])/g, "×")
    .replace(/\s+/g, " ")
    .trim();
}
