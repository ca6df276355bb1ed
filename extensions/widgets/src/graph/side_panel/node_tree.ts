// The same graph as a tree of text, for screen readers and for those who rather read.

import { element } from "../../element";
import type { GraphData, Item } from "../data/graph_data";
import { MARKS } from "../drawing/marks";
import type { VisibleGraph } from "../data/visible_graph";

export interface TreeListener {
  onSelect: (item: Item) => void;
  onToggle: (group: number) => void;
}

export class NodeTree {
  readonly root = element("ul", { class: "wb-graph-tree", role: "tree" });
  private readonly rows = new Map<Item, HTMLElement>();
  private order: Item[] = [];
  private data: GraphData | null = null;
  private visible: VisibleGraph | null = null;
  private active: Item | null = null;

  constructor(private readonly listener: TreeListener) {
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.root.addEventListener("click", (event) => {
      const row = (event.target as HTMLElement).closest<HTMLElement>("[data-item]");
      if (!row) return;
      const item = Number(row.dataset["item"]);
      if (item < 0 && (event.target as HTMLElement).classList.contains("wb-twist")) listener.onToggle(-item);
      else listener.onSelect(item);
    });
  }

  show(data: GraphData, visible: VisibleGraph, selected: Item | null): void {
    const focused = this.root.contains(document.activeElement);
    this.data = data;
    this.visible = visible;
    this.rows.clear();
    this.root.setAttribute("aria-label", `Nodes of ${data.title}`);
    this.order = [];
    for (const { item, level } of visible.items()) {
      this.rows.set(item, this.row(item, level));
      this.order.push(item);
    }
    this.root.replaceChildren(...this.rows.values());
    this.select(selected);
    if (focused && this.active !== null) this.rows.get(this.active)?.focus();
  }

  select(selected: Item | null): void {
    for (const [item, row] of this.rows) row.setAttribute("aria-selected", String(item === selected));
    const active = selected !== null && this.rows.has(selected) ? selected : (this.order[0] ?? null);
    if (this.active !== null) this.rows.get(this.active)?.setAttribute("tabindex", "-1");
    this.active = active;
    if (active === null) return;
    const row = this.rows.get(active)!;
    row.setAttribute("tabindex", "0");
    if (selected !== null && this.root.offsetParent) row.scrollIntoView({ block: "nearest" });
  }

  private row(item: Item, level: number): HTMLElement {
    const data = this.data!;
    const row = element("li", {
      role: "treeitem",
      "aria-level": String(level),
      tabindex: "-1",
      "data-item": String(item),
      style: `padding-left: ${6 + 14 * (level - 1)}px`,
    });
    if (item < 0) {
      const isOpen = this.visible!.isOpen(-item);
      row.setAttribute("aria-expanded", String(isOpen));
      const count = data.sizes[-item]!.toLocaleString("en");
      row.append(
        element("span", { class: "wb-twist", "aria-hidden": "true" }, isOpen ? "▾" : "▸"),
        element("strong", {}, data.label(item)),
        element("small", {}, ` ${count} nodes`),
      );
      return row;
    }
    const mark = MARKS[data.madeBy(item)];
    row.append(element("span", {}, data.op(item)), element("small", {}, ` ${data.names[item]!}`));
    if (mark.letter) row.append(element("small", { class: "wb-made" }, `, ${mark.label}`));
    return row;
  }

  private onKey(event: KeyboardEvent): void {
    const place = this.active === null ? -1 : this.order.indexOf(this.active);
    if (place < 0) return;
    const item = this.order[place]!;
    const to: Record<string, number> = {
      ArrowDown: place + 1,
      ArrowUp: place - 1,
      Home: 0,
      End: this.order.length - 1,
    };
    const isGroup = item < 0;
    const isOpen = isGroup && this.visible!.isOpen(-item);
    const target = to[event.key];
    if (target !== undefined) this.move(this.order[target]);
    else if (isGroup && (event.key === "Enter" || event.key === " ")) this.listener.onToggle(-item);
    else if (event.key === "Enter" || event.key === " ") this.listener.onSelect(item);
    else if (event.key === "ArrowRight" && isGroup && !isOpen) this.listener.onToggle(-item);
    else if (event.key === "ArrowRight" && isOpen) this.move(this.order[place + 1]);
    else if (event.key === "ArrowLeft" && isOpen) this.listener.onToggle(-item);
    else if (event.key === "ArrowLeft") this.move(-this.data!.around(item) || undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private move(item: Item | undefined): void {
    if (item === undefined) return;
    this.listener.onSelect(item);
    this.rows.get(item)?.focus();
  }
}
