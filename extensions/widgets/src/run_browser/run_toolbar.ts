// Search, filters and the order of the list of runs.

import { element } from "../element";
import { formatWhole } from "../number_format";
import { type Filters, filterValues, firstOrder, type Order, SORT_LABELS, type SortKey } from "./run_order";
import type { RunRow } from "./run_row";

export interface ToolbarListener {
  onQuery: (query: string) => void;
  onFilter: (name: keyof Filters, value: string) => void;
  onOrder: (order: Order) => void;
  onClear: () => void;
}

const FILTER_LABELS: Record<keyof Filters, string> = {
  status: "Status",
  engine: "Engine",
  model: "Model",
  tag: "Tag",
};

export class RunToolbar {
  readonly root = element("div", { class: "wb-run-toolbar", role: "search", "aria-label": "Search runs" });
  private readonly search = element("input", {
    type: "search",
    "aria-label": "Search runs",
    placeholder: "Search runs",
    maxlength: "300",
    spellcheck: "false",
  });
  private readonly selects = new Map<keyof Filters, HTMLSelectElement>();
  private readonly sort = element("select", { "aria-label": "Sort by" });
  private readonly direction = element("button", { type: "button", class: "wb-toggle wb-direction" });
  private readonly count = element("span", { class: "wb-run-count", "aria-live": "polite" });
  private readonly clear = element("button", { type: "button", class: "wb-toggle" }, "Show all");
  /** Unfolds filters and order, which are folded where the list is narrow. */
  private readonly unfold = element(
    "button",
    { type: "button", class: "wb-toggle wb-run-unfold", "aria-expanded": "false", title: "Show filters and order" },
    "Filters",
  );
  private order: Order = { key: "started", descending: true };

  constructor(listener: ToolbarListener) {
    this.search.addEventListener("input", () => listener.onQuery(this.search.value));
    this.unfold.addEventListener("click", () => {
      const unfolded = this.root.classList.toggle("wb-unfolded");
      this.unfold.setAttribute("aria-expanded", String(unfolded));
    });
    const counts = element("span", { class: "wb-run-counts" }, this.count, this.clear, this.unfold);
    this.root.append(this.search, counts);
    for (const [name, label] of Object.entries(FILTER_LABELS) as [keyof Filters, string][]) {
      const select = element("select", { "aria-label": `Filter by ${label.toLowerCase()}`, hidden: "" });
      select.addEventListener("change", () => listener.onFilter(name, select.value));
      this.selects.set(name, select);
      this.root.append(select);
    }
    for (const [key, label] of Object.entries(SORT_LABELS)) {
      this.sort.append(element("option", { value: key }, `Sort: ${label}`));
    }
    this.sort.addEventListener("change", () => {
      listener.onOrder(firstOrder(this.sort.value as SortKey));
    });
    this.direction.addEventListener("click", () => {
      listener.onOrder({ ...this.order, descending: !this.order.descending });
    });
    this.clear.addEventListener("click", () => {
      listener.onClear();
      this.search.focus();
    });
    const order = element("span", { class: "wb-run-order" }, this.sort, this.direction);
    this.root.append(order);
  }

  focus(): void {
    this.search.focus();
  }

  update(
    rows: Map<string, RunRow>,
    shownCount: number,
    query: string,
    filters: Filters,
    order: Order,
  ): void {
    this.order = order;
    if (this.search.value !== query) this.search.value = query;
    for (const [name, select] of this.selects) this.fill(select, name, rows, filters[name]);
    this.sort.value = order.key;
    this.direction.textContent = order.descending ? "↓" : "↑";
    const direction = order.descending ? "descending" : "ascending";
    this.direction.title = `Order: ${direction}. Press to reverse.`;
    this.direction.setAttribute("aria-label", `Order: ${direction}`);
    const total = rows.size;
    const noun = total === 1 ? "run" : "runs";
    const all = shownCount === total;
    setText(this.count, all ? `${formatWhole(total)} ${noun}` : `${formatWhole(shownCount)} of ${formatWhole(total)} ${noun}`);
    this.clear.hidden = query.trim() === "" && Object.values(filters).every((value) => !value);
  }

  private fill(
    select: HTMLSelectElement,
    name: keyof Filters,
    rows: Map<string, RunRow>,
    value: string,
  ): void {
    // An open menu would close if its options were replaced.
    if (select !== document.activeElement || select.options.length === 0) {
      const values = filterValues(rows.values(), name);
      if (value && !values.some(([known]) => known === value)) values.push([value, 0]);
      const any = element("option", { value: "" }, `${FILTER_LABELS[name]}: any`);
      const options = values.map(([known, count]) =>
        element("option", { value: known }, `${shortened(known)} (${formatWhole(count)})`),
      );
      select.replaceChildren(any, ...options);
      // Once there it stays: nothing moves under the pointer as the last run with a tag is deleted.
      select.hidden &&= values.length === 0;
    }
    select.value = value;
    select.classList.toggle("wb-filter-set", value !== "");
  }
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** A live region is read aloud each time that its text is set. */
function setText(node: HTMLElement, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}
