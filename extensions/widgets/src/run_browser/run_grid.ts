// The list of runs as a grid: only the rows in view exist, and the keyboard does everything.

import { element, freshId } from "../element";
import { type Column, columnsThatFit, gridTemplate } from "./run_columns";
import type { Order, SortKey } from "./run_order";
import { displayName, type RunRow } from "./run_row";
import type { Selection } from "./selection";
import { typeScaleOf } from "../zoom";
import { sparklineText } from "./sparkline";
import { anchoredScroll, rowsInView, scrollIntoView } from "./virtual_rows";

const ROW_HEIGHT = 52;
const HEAD_HEIGHT = 34;
const MOST_ROWS_SHOWN = 10;

export interface GridListener {
  onSort: (key: SortKey) => void;
  onSelect: () => void;
  onOpen: (id: string) => void;
  /** A key that the list has no meaning for: F2, Delete. */
  onKey: (key: string) => void;
}

/** Height of the bar at the bottom of JupyterLab's window, in CSS pixels. */
const STATUS_BAR = 30;

export class RunGrid {
  readonly root = element("div", {
    class: "wb-run-grid",
    role: "grid",
    tabindex: "0",
    "aria-label": "Recorded runs",
    "aria-multiselectable": "true",
  });
  private readonly head = element("div", { class: "wb-run-head", role: "row", "aria-rowindex": "1" });
  private readonly body = element("div", { class: "wb-run-body", role: "rowgroup" });
  private readonly prefix = freshId("run");
  private columns: Column[] = [];
  /** How many times larger than usual its text is, and with it rows and columns. */
  private scale = 1;
  private width = 0;
  private order: Order = { key: "started", descending: true };
  private shown: string[] = [];
  private rows = new Map<string, RunRow>();
  private drawn = new Map<string, { row: RunRow; node: HTMLElement }>();
  private hovered = false;
  /** The row of the last single click; null once the mouse was elsewhere. */
  private clicked: string | null = null;

  constructor(
    private readonly selection: Selection,
    private readonly listener: GridListener,
  ) {
    this.root.append(element("div", { role: "rowgroup", class: "wb-run-head-group" }, this.head), this.body);
    this.root.addEventListener("scroll", () => this.draw());
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.root.addEventListener("pointerenter", () => (this.hovered = true));
    this.root.addEventListener("pointerleave", (event) => {
      this.hovered = false;
      if (event.pointerType === "mouse") this.clicked = null;
    });
    this.root.addEventListener("focus", () => this.onFocus());
    this.body.addEventListener("mousedown", (event) => {
      // Shift and a click would select text, and so would the second click, which opens the run.
      if (event.shiftKey || event.detail > 1) event.preventDefault();
    });
    this.body.addEventListener("click", (event) => this.onClick(event));
    this.body.addEventListener("dblclick", (event) => {
      const id = this.idAt(event);
      if (id !== null && id === this.clicked) this.listener.onOpen(id);
    });
  }

  private get rowHeight(): number {
    return ROW_HEIGHT * this.scale;
  }

  private get headHeight(): number {
    return HEAD_HEIGHT * this.scale;
  }

  get ids(): string[] {
    return this.shown;
  }

  /** How many of `ids` lie above what is in view. */
  countAbove(ids: Set<string>): number {
    const first = Math.floor(this.root.scrollTop / this.rowHeight);
    return this.shown.slice(0, first).filter((id) => ids.has(id)).length;
  }

  /** Scrolls to a run that is shown, if it is out of sight. */
  reveal(id: string): void {
    const height = this.root.clientHeight - this.headHeight;
    this.root.scrollTop = scrollIntoView(this.shown.indexOf(id), this.root.scrollTop, height, this.rowHeight);
    this.draw();
  }

  scrollToTop(): void {
    this.root.scrollTop = 0;
    this.draw();
  }

  /**
   * Shows these rows. What is at the top of the view stays there if a user looks at the list: it
   * is scrolled, the pointer or the keyboard is in it, or something is selected.
   */
  show(rows: Map<string, RunRow>, shown: string[], order: Order, keepPlace: boolean): void {
    const { scrollTop } = this.root;
    const looked =
      scrollTop > 0 || this.hovered || this.selection.ids.size > 0 || this.root.contains(document.activeElement);
    const next = anchoredScroll(this.shown, shown, scrollTop, this.rowHeight);
    this.rows = rows;
    this.shown = shown;
    this.order = order;
    this.resize(this.width);
    this.fitHeights();
    this.root.setAttribute("aria-rowcount", String(shown.length + 1));
    if (!keepPlace) this.root.scrollTop = 0;
    else if (looked) this.root.scrollTop = next;
    this.fillHead();
    this.draw();
  }

  private fitHeights(): void {
    const { length } = this.shown;
    this.body.style.height = `${length * this.rowHeight}px`;
    this.root.style.height = `${this.headHeight + Math.min(length, MOST_ROWS_SHOWN) * this.rowHeight + 2}px`;
  }

  /** Fits the columns to the width and to the size of the text. */
  resize(width: number): void {
    const scale = typeScaleOf(this.root);
    const columns = columnsThatFit((width - 24) / scale, this.order.key);
    const keys = (some: Column[]) => some.map(({ key }) => key).join();
    this.width = width;
    if (keys(columns) === keys(this.columns) && scale === this.scale) return;
    this.columns = columns;
    this.scale = scale;
    this.fitHeights();
    this.root.style.setProperty("--wb-run-columns", gridTemplate(columns));
    this.root.setAttribute("aria-colcount", String(columns.length));
    this.drawn.clear();
    this.fillHead();
    this.draw();
  }

  /** Draws the rows in view; one that has not changed keeps its element. */
  draw(): void {
    // It has no height yet where it was hidden until now: then it gets room for these rows.
    const room = Math.min(this.shown.length, MOST_ROWS_SHOWN) * this.rowHeight;
    const height = Math.max(0, this.root.clientHeight - this.headHeight) || room;
    const { first, end } = rowsInView(this.root.scrollTop, height, this.rowHeight, this.shown.length);
    const before = this.drawn;
    this.drawn = new Map();
    const nodes: HTMLElement[] = [];
    for (let index = first; index < end; index += 1) {
      const id = this.shown[index] as string;
      const row = this.rows.get(id) as RunRow;
      const known = before.get(id);
      const node = known?.row === row ? known.node : this.makeRow(row);
      this.place(node, id, index);
      this.drawn.set(id, { row, node });
      nodes.push(node);
    }
    this.putNodes(nodes);
    const active = this.selection.active;
    if (active !== null && this.drawn.has(active)) {
      this.root.setAttribute("aria-activedescendant", this.elementId(active));
    } else this.root.removeAttribute("aria-activedescendant");
  }

  /** Puts the nodes into the body in their order and touches only what differs. */
  private putNodes(nodes: HTMLElement[]): void {
    const wanted = new Set<Node>(nodes);
    for (const child of [...this.body.children]) if (!wanted.has(child)) child.remove();
    nodes.forEach((node, index) => {
      if (this.body.children[index] !== node) this.body.insertBefore(node, this.body.children[index] ?? null);
    });
  }

  private place(node: HTMLElement, id: string, index: number): void {
    const selected = this.selection.ids.has(id);
    node.style.transform = `translateY(${index * this.rowHeight}px)`;
    node.setAttribute("aria-rowindex", String(index + 2));
    node.setAttribute("aria-selected", String(selected));
    node.classList.toggle("wb-active-row", id === this.selection.active);
  }

  private makeRow(row: RunRow): HTMLElement {
    const beside = new Set<string>(this.columns.map(({ key }) => key));
    const cells = this.columns.map((column) => {
      const cell = element("div", { role: "gridcell", class: column.text ? "wb-text-cell" : "wb-number-cell" }, ...column.fill(row, beside));
      if (column.key === "curve" && row.complete) cell.setAttribute("aria-label", sparklineText(row.curve));
      return cell;
    });
    const box = element("span", { class: "wb-run-box", "aria-hidden": "true" });
    cells[0]?.prepend(box);
    const made = element("div", { role: "row", class: "wb-run-row", id: this.elementId(row.id), "aria-label": displayName(row) }, ...cells);
    made.dataset["run"] = row.id;
    return made;
  }

  private elementId(id: string): string {
    return `${this.prefix}-${id.replace(/[^\w-]/g, "_")}`;
  }

  private fillHead(): void {
    const { key, descending } = this.order;
    const focused = (document.activeElement as HTMLElement | null)?.dataset["sort"];
    const heads = this.columns.map((column) => {
      const unit = column.unit ? [element("small", {}, column.unit)] : [];
      const sorted = column.key === key;
      const attributes: Record<string, string> = {
        role: "columnheader",
        class: column.text ? "wb-text-cell" : "wb-number-cell",
        title: column.description,
      };
      if (column.key === "curve") return element("div", attributes, column.label);
      attributes["aria-sort"] = sorted ? (descending ? "descending" : "ascending") : "none";
      const arrow = element("span", { class: "wb-sort-arrow", "aria-hidden": "true" }, sorted ? (descending ? "▾" : "▴") : "");
      const button = element("button", { type: "button", class: "wb-sort" }, column.label, arrow, ...unit);
      button.dataset["sort"] = column.key;
      button.addEventListener("click", () => this.listener.onSort(column.key as SortKey));
      return element("div", attributes, button);
    });
    this.head.replaceChildren(...heads);
    if (focused) this.head.querySelector<HTMLElement>(`[data-sort="${focused}"]`)?.focus();
  }

  private onFocus(): void {
    if (this.selection.active === null && this.shown.length) {
      this.selection.active = this.shown[0] as string;
      this.draw();
    }
  }

  private idAt(event: Event): string | null {
    const row = (event.target as Element | null)?.closest<HTMLElement>("[data-run]");
    return row?.dataset["run"] ?? null;
  }

  private onClick(event: MouseEvent): void {
    const id = this.idAt(event);
    // Of a double click on Undo, the second meets a row that has come under the pointer.
    if (id === null || (event.detail > 1 && id !== this.clicked)) return;
    this.clicked = id;
    const onBox = (event.target as Element).classList.contains("wb-run-box");
    if (event.shiftKey) this.selection.extendTo(id, this.shown);
    else if (event.ctrlKey || event.metaKey || onBox) this.selection.toggle(id);
    else this.selection.only(id);
    this.listener.onSelect();
  }

  private onKey(event: KeyboardEvent): void {
    if (event.target !== this.root || this.shown.length === 0) return;
    const key = event.key === " " ? "Space" : event.key;
    const command = event.ctrlKey || event.metaKey;
    const active = this.selection.active;
    const moves: Record<string, number> = {
      ArrowUp: -1,
      ArrowDown: 1,
      PageUp: 1 - MOST_ROWS_SHOWN,
      PageDown: MOST_ROWS_SHOWN - 1,
      Home: -this.shown.length,
      End: this.shown.length,
    };
    const move = moves[key];
    if (move !== undefined) this.moveBy(move, event.shiftKey);
    else if (key === "Space" && active !== null) this.selection.toggle(active);
    else if (key === "a" && command) this.selection.all(this.shown);
    else if (key === "Escape" && this.selection.ids.size > 0) this.selection.clear();
    else if (key === "Enter" && active !== null) this.listener.onOpen(active);
    else if (key === "F2" || key === "Delete") {
      if (this.selection.ids.size === 0 && active !== null) this.selection.only(active);
    } else return;
    event.preventDefault();
    event.stopPropagation();
    this.listener.onSelect();
    if (key === "F2" || key === "Delete") this.listener.onKey(key);
  }

  private moveBy(rows: number, extend: boolean): void {
    const at = this.selection.active === null ? -1 : this.shown.indexOf(this.selection.active);
    const index = Math.min(this.shown.length - 1, Math.max(0, at + rows));
    const id = this.shown[index] as string;
    if (extend) this.selection.extendTo(id, this.shown);
    else this.selection.moveTo(id);
    this.reveal(id);
    // The page follows, too: keys act on a row that is seen, above JupyterLab's status bar and below the page's own.
    const row = document.getElementById(this.elementId(id));
    const box = row?.getBoundingClientRect();
    const bar = this.root.closest(".wb-run-table")?.querySelector(".wb-run-pinned")?.getBoundingClientRect().bottom ?? 0;
    if (box && (box.top < bar || box.bottom > innerHeight - STATUS_BAR)) row?.scrollIntoView({ block: "center" });
  }
}
