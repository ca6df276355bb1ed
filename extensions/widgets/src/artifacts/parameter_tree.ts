// Which parameters are trained: a searchable tree with boxes of three states, and patterns.

import type { RenderProps } from "@anywidget/types";
import { element, freshId } from "../element";
import { keepFocus } from "../focus";
import { formatWhole } from "../number_format";
import "./parameter_tree.css";
import { widget } from "../widget";
import { matches, patternsFor, type Scope, scopesOf } from "./parameter_scopes";

interface Parameter {
  name: string;
  shape: string;
  /** Number of elements. */
  count: number;
}

interface Traits {
  parameters: Parameter[];
  /** Names and patterns of what is trained; empty: everything, or nothing beside LoRA's adapters. */
  patterns: string[];
  /** Whether LoRA's adapters are trained, and parameters only beside them. */
  adapters: boolean;
  /** The problem of the patterns, in a sentence. */
  problem: string;
  hint: string;
}

/** A larger tree is folded at first. */
const UNFOLDED = 40;

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-parameter-tree");
  const search = element("input", { type: "search", placeholder: "Search, as *.bias" });
  search.setAttribute("aria-label", "Search parameters");
  const tools = element("div", { class: "wb-tree-tools" }, search);
  const sum = element("p", { class: "wb-tree-sum", role: "status" });
  const problem = element("p", { class: "wb-problem" });
  const tree = element("ul", { role: "tree", "aria-label": "Parameters", "aria-multiselectable": "true" });
  const heading = element("h2", {}, "Parameters to train");
  const hint = element("p", { class: "wb-hint" });
  const none = element("p", { class: "wb-hint", role: "status" });
  el.append(heading, hint, tools, sum, problem, none, tree);
  const open = new Set<string>();
  let known = "";

  const trained = () => {
    const patterns = model.get("patterns");
    const names = model.get("parameters").map(({ name }) => name);
    if (patterns.length === 0) return new Set(model.get("adapters") ? [] : names);
    return new Set(names.filter((name) => matches(name, patterns)));
  };
  const send = (chosen: Set<string>) => {
    const names = model.get("parameters").map(({ name }) => name);
    model.send({ kind: "patterns", patterns: patternsFor(names, chosen, model.get("adapters")) });
  };
  const choose = (names: string[], on: boolean) => {
    const chosen = trained();
    for (const name of names) {
      if (on) chosen.add(name);
      else chosen.delete(name);
    }
    send(chosen);
  };
  const action = (text: string, on: boolean) => {
    const button = element("button", { type: "button", class: "wb-toggle" }, text);
    button.addEventListener("click", () => choose(found().map(({ name }) => name), on));
    return button;
  };
  const actions = [action("Train these", true), action("Freeze these", false)];
  tools.append(...actions);

  const found = () => {
    const text = search.value.trim();
    const wild = /[*?[]/.test(text);
    const of = ({ name }: Parameter) => (wild ? matches(name, [text]) : name.includes(text));
    return model.get("parameters").filter(of);
  };

  const draw = () => {
    const parameters = model.get("parameters");
    const chosen = trained();
    const names = parameters.map(({ name }) => name).join();
    if (names !== known) {
      known = names;
      open.clear();
      if (parameters.length <= UNFOLDED) for (const key of keysOf(scopesOf(parameters))) open.add(key);
    }
    hint.textContent = model.get("hint");
    hint.hidden = parameters.length > 0;
    tools.hidden = sum.hidden = parameters.length === 0;
    const count = (of: Parameter[]) => of.reduce((total, one) => total + one.count, 0);
    const part = count(parameters.filter(({ name }) => chosen.has(name)));
    const beside = model.get("adapters") ? "LoRA's adapters are trained, and beside them " : "";
    const are = beside ? "" : " are trained";
    sum.textContent =
      `${beside}${chosen.size} of ${parameters.length} parameters${are}, ` +
      `${formatWhole(part)} of ${formatWhole(count(parameters))} elements.`;
    problem.textContent = model.get("problem");
    problem.hidden = !model.get("problem");
    const searching = search.value.trim() !== "";
    const missed = searching && parameters.length > 0 && found().length === 0;
    none.textContent = missed ? `No parameter matches ${shortened(search.value.trim())}.` : "";
    none.hidden = !missed;
    for (const button of actions) button.disabled = missed;
    keepFocus(tree, () =>
      tree.replaceChildren(...scopesOf(found()).map((scope) => itemOf(scope, 1, chosen, searching))),
    );
  };

  const itemOf = (scope: Scope, level: number, chosen: Set<string>, searching: boolean): HTMLElement => {
    const names = scope.parameters.map(({ name }) => name);
    const on = names.filter((name) => chosen.has(name)).length;
    const box = element("input", { type: "checkbox", id: freshId("parameter") });
    box.checked = on === names.length;
    box.indeterminate = on > 0 && on < names.length;
    box.dataset["key"] = scope.key;
    box.addEventListener("change", () => choose(names, box.checked));
    const label = element("label", { for: box.id }, scope.label);
    const elements = scope.parameters.reduce((total, one) => total + one.count, 0);
    const whole = formatWhole(elements);
    // Of a vector both are the same.
    const shape = scope.leaf?.shape.includes("×") ? `${scope.leaf.shape} = ` : "";
    const size = element("span", { class: "wb-note" }, shape + whole);
    const line = element("div", { class: "wb-tree-line" });
    line.style.setProperty("--wb-level", String(level));
    const item = element("li", { role: "treeitem", "aria-level": String(level), "aria-selected": String(box.checked) }, line);
    const unfolded = searching || open.has(scope.key);
    if (!scope.leaf) {
      const fold = element("button", { type: "button", class: "wb-fold", "data-key": scope.key });
      fold.setAttribute("aria-label", `${unfolded ? "Fold" : "Unfold"} ${scope.label}`);
      item.setAttribute("aria-expanded", String(unfolded));
      fold.addEventListener("click", () => {
        if (open.has(scope.key)) open.delete(scope.key);
        else open.add(scope.key);
        draw();
      });
      line.append(fold);
    } else line.append(element("span", { class: "wb-fold-space" }));
    line.append(box, label, size);
    if (!scope.leaf && unfolded) {
      const children = scope.children.map((child) => itemOf(child, level + 1, chosen, searching));
      item.append(element("ul", { role: "group" }, ...children));
    }
    return item;
  };

  tree.addEventListener("keydown", (event) => {
    const item = (event.target as HTMLElement).closest<HTMLElement>("[role=treeitem]");
    if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
    const boxes = [...tree.querySelectorAll<HTMLInputElement>("input[type=checkbox]")];
    const at = boxes.indexOf(item.querySelector<HTMLInputElement>("input[type=checkbox]")!);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: boxes.length - 1 }[event.key];
    const unfolds = { ArrowRight: "false", ArrowLeft: "true" }[event.key];
    if (to !== undefined) boxes[to]?.focus();
    else if (unfolds === undefined) return;
    else if (item.getAttribute("aria-expanded") === unfolds) {
      item.querySelector<HTMLElement>(".wb-fold")!.click();
    }
    event.preventDefault();
  });
  search.addEventListener("input", draw);
  model.on("change", draw);
  draw();
}

/** A search that is repeated in a message. */
function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function keysOf(scopes: Scope[]): string[] {
  return scopes.flatMap((scope) => [scope.key, ...keysOf(scope.children)]);
}

export default widget({ render });
