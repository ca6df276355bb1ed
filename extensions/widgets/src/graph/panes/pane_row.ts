// The graphs side by side: which has the focus, and what of one belongs to the selection in another.

import { element } from "../../element";
import type { Item } from "../data/graph_data";
import { linkedNodes } from "./linked_nodes";
import type { Pane } from "./pane";

export class PaneRow {
  readonly root = element("div", { class: "wb-graph-panes" });
  readonly panes = new Map<string, Pane>();
  /** The graph that was clicked into last. */
  active = "";
  private lost = false;

  get pane(): Pane | undefined {
    return this.panes.get(this.active);
  }

  /** Puts the panes of these graphs side by side; one that is still read is announced. */
  arrange(shown: readonly string[]): void {
    const wanted = shown.map((key) => this.panes.get(key)?.root ?? this.waiting(key));
    const { children } = this.root;
    const same = wanted.length === children.length && wanted.every((each, i) => children[i] === each);
    if (!same) this.root.replaceChildren(...wanted);
    this.root.dataset["count"] = String(shown.length);
    const [first = 0, second = 0] = shown.map((key) => this.panes.get(key)?.data.operatorCount ?? 0);
    this.root.dataset["wider"] = first > second ? "first" : "second";
    this.activate(shown.includes(this.active) ? this.active : (shown[0] ?? ""));
  }

  /** No further graph will come. */
  lose(): void {
    this.lost = true;
  }

  activate(key: string): void {
    this.active = key;
    for (const [each, pane] of this.panes) pane.root.classList.toggle("wb-active", each === key);
  }

  /** Marks in the other graphs what belongs to the selected node; `look`: shows it, too. */
  link(shown: readonly string[], look: boolean): void {
    const from = this.pane;
    for (const [key, pane] of this.panes) {
      const nodes = from && key !== from.data.key ? linkedNodes(from, pane) : [];
      const boxes = new Set(nodes.map((node) => pane.scene?.visible.boxOf(node) ?? node));
      pane.linked = boxes;
      const [first] = boxes;
      if (look && first !== undefined && shown.includes(key)) pane.look(first);
      pane.redraw();
    }
  }

  /** Marks what a search has found in each graph. */
  mark(found: ReadonlyMap<string, readonly Item[]>): void {
    for (const [key, pane] of this.panes) {
      pane.found = found.get(key) ?? [];
      pane.redraw();
    }
  }

  clear(): void {
    for (const pane of this.panes.values()) pane.close();
    this.panes.clear();
    this.root.replaceChildren();
  }

  private waiting(key: string): HTMLElement {
    const text = this.lost ? `The ${key} graph was not read before the kernel was gone.` : `Reading the ${key} graph…`;
    return element("section", { class: "wb-graph-pane wb-graph-waiting" }, text);
  }
}
