// All recorded runs: search, filters, order, selection and actions.

import type { AnyModel, RenderProps } from "@anywidget/types";
import { GONE, onKernelGone } from "../app/kernel";
import { element } from "../element";
import { widget } from "../widget";
import { NewRuns } from "./new_runs";
import { RunActions } from "./run_actions";
import { RunGrid } from "./run_grid";
import { RunHint, RunMessage } from "./run_message";
import { RunOffers } from "./run_offers";
import { type Filters, firstOrder, keptOrder, NO_FILTERS, type Order, sortedIds, type SortKey } from "./run_order";
import { floats, type RowMessage, RunStore } from "./run_row";
import "./run_table.css";
import { RunToolbar } from "./run_toolbar";
import { type DeletedRun, RunTrash } from "./run_trash";
import { Selection } from "./selection";

interface Traits {
  query: string;
  /** A column of the list, such as "started". */
  sort_by: string;
  descending: boolean;
  /** By "status", "engine", "model" or "tag"; what is missing or empty filters nothing. */
  filters: Record<string, string>;
  /** Ids. */
  selected: string[];
  /** Where the runs lie. */
  folder: string;
  /** Models whose runs can be fine-tuned on a user's own examples; empty: there is no button for that. */
  bases: string[];
  /** Whether the kernel still looks for runs. */
  loading: boolean;
  /** Why the folder cannot be read; empty: it can. */
  problem: string;
  /** "busy", "done" or "error". */
  outcome: string;
  /** Outcome of the last action. */
  message: string;
  /** Whether what is being done can be cancelled. */
  cancellable: boolean;
  /** Ids of runs that were deleted last and can be brought back. */
  undo: string[];
  /** The runs in the trash, the last deleted first. */
  deleted: DeletedRun[];
  /** How many there are, also of those that are not in `deleted`. */
  deleted_total: number;
}

class RunTableView {
  private readonly store = new RunStore();
  private readonly selection = new Selection();
  private readonly grid: RunGrid;
  private readonly toolbar: RunToolbar;
  private readonly actions: RunActions;
  private readonly offers: RunOffers;
  private readonly trash: RunTrash;
  private readonly hint = new RunHint();
  private readonly problem = element("p", { class: "wb-notice wb-run-problem", "data-outcome": "error", role: "alert", hidden: "" });
  private readonly message: RunMessage;
  private readonly newer: NewRuns;
  private readonly list: HTMLElement;
  /** Ids of runs that are to be brought back here, and are shown once they are. */
  private readonly restoring = new Set<string>();
  private synced = false;
  /** Whether the rows that came last are shown; not while the step is hidden, of which no row is laid out. */
  private upToDate = false;
  private visible: boolean;

  constructor(
    private readonly model: AnyModel<Traits>,
    private readonly el: HTMLElement,
  ) {
    this.visible = el.getClientRects().length > 0;
    const act = (name: string, ids: string[], text = "") => {
      if (name === "undelete") for (const id of ids) this.restoring.add(id);
      this.model.send({ kind: "act", name, runs: ids, text });
    };
    this.grid = new RunGrid(this.selection, {
      onSort: (key) => this.sortBy(key),
      onSelect: () => this.selectionChanged(),
      onOpen: (id) => act("open", [id]),
      onKey: (key) => this.actions.start(key === "F2" ? "rename" : "delete"),
    });
    this.toolbar = new RunToolbar({
      onQuery: (query) => this.set({ query }),
      onFilter: (name, value) => this.set({ filters: { ...this.filters, [name]: value } }),
      onOrder: (order) => this.set({ sort_by: order.key, descending: order.descending }),
      onClear: () => this.set({ query: "", filters: {} }),
    });
    const deselect = () => {
      this.selection.replace([]);
      this.selectionChanged();
      if (this.list.hidden) this.toolbar.focus();
      else this.focusGrid();
    };
    this.actions = new RunActions(act, model.get("bases"), deselect);
    this.offers = new RunOffers(act, () => this.grid.root);
    this.trash = new RunTrash(act);
    const actInList = (name: string, ids: string[]) => {
      act(name, ids);
      this.focusGrid();
    };
    this.message = new RunMessage({
      onUndo: () => actInList("undelete", this.model.get("undo")),
      onCancel: () => actInList("cancel", []),
    });
    this.newer = new NewRuns(() => {
      this.grid.scrollToTop();
      this.focusGrid();
    });
    this.grid.root.addEventListener("scroll", () => this.showNewer());
    this.actions.line.append(this.newer.root);
    this.list = element("div", { class: "wb-run-list" }, this.grid.root);
    el.append(
      element("h2", {}, "Runs"),
      this.offers.root,
      this.problem,
      this.toolbar.root,
      element("div", { class: "wb-run-pinned" }, this.actions.root, this.message.root),
      this.list,
      this.hint.root,
      this.trash.root,
    );
  }

  start(signal: AbortSignal): void {
    const { model } = this;
    const resized = new ResizeObserver(() => {
      const enters = !this.visible;
      const atTop = this.grid.root.scrollTop === 0;
      this.visible = this.el.clientWidth > 0;
      if (!this.visible) return;
      this.grid.resize(this.el.clientWidth);
      if (enters && this.model.get("outcome") === "done" && !this.model.get("undo").length) {
        this.message.show("done", "", false, false); // it told of what was done then
      }
      if (!this.synced || this.upToDate) return;
      this.showReceived(enters && atTop);
    });
    resized.observe(this.el);
    signal.addEventListener("abort", () => resized.disconnect());
    this.grid.resize(this.el.clientWidth || 1000);
    model.on("msg:custom", (message: RowMessage, buffers: DataView[]) => {
      if (message.kind === "rows") this.receive(message, floats(buffers));
    });
    for (const name of ["query", "filters", "sort_by", "descending"]) {
      model.on(`change:${name}`, () => this.reorder());
    }
    for (const name of ["problem", "loading", "folder"]) model.on(`change:${name}`, () => this.update());
    for (const name of ["outcome", "message", "undo", "cancellable"]) model.on(`change:${name}`, () => this.showMessage());
    const showTrash = () => this.trash.update(model.get("deleted"), model.get("deleted_total"));
    for (const name of ["deleted", "deleted_total"]) model.on(`change:${name}`, showTrash);
    model.on("change:selected", () => this.adoptSelection());
    this.adoptSelection();
    this.showMessage();
    showTrash();
    this.update();
    onKernelGone(model, () => this.lose(), signal);
    model.send({ kind: "sync" });
  }

  /** The list stays readable. Within a page, the page itself shows that the kernel is gone. */
  private lose(): void {
    this.actions.lose();
    this.offers.root.inert = this.message.root.inert = this.trash.root.inert = true;
    if (this.el.closest(".wb-page")) return;
    this.problem.textContent = GONE;
    this.problem.hidden = false;
  }

  private receive(message: RowMessage, curves: Float32Array): void {
    // A view that has just opened waits for all rows: changes would have nothing to apply to.
    if (!message.full && !this.synced) return;
    const before = this.grid.ids;
    this.store.apply(message, curves);
    this.newer.take(message.rows.map(({ id }) => id), !this.synced);
    this.synced = true;
    this.selection.retain((id) => this.store.rows.has(id), before);
    this.upToDate = false;
    if (this.visible) this.showReceived();
  }

  /** `fromTop`: the list is looked at from its top on, as where it is opened. */
  private showReceived(fromTop = false): void {
    const { rows } = this.store;
    this.show(keptOrder(this.grid.ids, rows, this.model.get("query"), this.filters, this.order), !fromTop);
    this.revealRestored();
  }

  /** Scrolls to what was brought back. */
  private revealRestored(): void {
    const { rows } = this.store;
    const back = [...this.restoring].filter((id) => rows.has(id));
    const first = this.grid.ids.find((id) => back.includes(id));
    for (const id of back) this.restoring.delete(id);
    if (first !== undefined) this.grid.reveal(first);
  }

  private reorder(): void {
    const { rows } = this.store;
    this.show(sortedIds(rows.values(), this.model.get("query"), this.filters, this.order), false);
  }

  private show(shown: string[], keepPlace: boolean): void {
    this.upToDate = true;
    this.grid.show(this.store.rows, shown, this.order, keepPlace);
    this.update();
  }

  private update(): void {
    const { rows } = this.store;
    const shown = this.grid.ids.length;
    this.toolbar.update(rows, shown, this.model.get("query"), this.filters, this.order);
    this.offers.update(rows.values());
    this.updateActions();
    const problem = this.model.get("problem");
    this.problem.textContent = problem;
    this.problem.hidden = problem === "";
    const none = rows.size === 0;
    this.toolbar.root.hidden = this.actions.root.hidden = none;
    this.list.hidden = shown === 0;
    const state = !this.synced || this.model.get("loading") ? "loading" : none ? "none" : "none match";
    this.hint.show(shown > 0 || problem !== "" ? null : state, this.model.get("folder"));
    this.showNewer();
    this.handOnFocus();
  }

  /** Without moving the page: the buttons above it stay where they are. */
  private focusGrid(): void {
    this.grid.root.focus({ preventScroll: true });
  }

  private showNewer(): void {
    this.newer.show((ids) => this.grid.countAbove(ids));
  }

  private showMessage(): void {
    if (this.model.get("outcome") === "error") this.restoring.clear(); // some of it is not coming
    const message = this.model.get("message");
    const inForm = this.actions.showOutcome(this.model.get("outcome"), message, this.model.get("cancellable"));
    const canUndo = this.model.get("undo").length > 0;
    this.message.show(this.model.get("outcome"), inForm ? "" : message, canUndo, this.model.get("cancellable"));
    this.handOnFocus();
  }

  /** From what is hidden now, as the list is when its last run was deleted, and Undo when that run is back. */
  private handOnFocus(): void {
    const focused = document.activeElement;
    if (!this.el.contains(focused) || !focused?.closest("[hidden]")) return;
    const next = [this.grid.root, this.message.undo, this.hint.root].find((each) => !each.closest("[hidden]"));
    next?.focus({ preventScroll: true });
  }

  private sortBy(key: SortKey): void {
    const { key: current, descending } = this.order;
    this.set({ sort_by: key, descending: key === current ? !descending : firstOrder(key).descending });
  }

  private selectionChanged(): void {
    const { shown, hidden } = this.selectedRows();
    const selected = [...shown, ...hidden].map((row) => row.id);
    if (JSON.stringify(selected) !== JSON.stringify(this.model.get("selected"))) this.set({ selected });
    this.grid.draw();
    this.updateActions();
  }

  private adoptSelection(): void {
    const selected = this.model.get("selected");
    const same = selected.length === this.selection.ids.size && selected.every((id) => this.selection.ids.has(id));
    if (same) return;
    this.selection.replace(selected);
    this.grid.draw();
    this.updateActions();
  }

  private updateActions(): void {
    const { shown, hidden } = this.selectedRows();
    this.actions.update(shown, hidden);
  }

  /** Those in the list, in its order, and those that a filter hides. */
  private selectedRows() {
    const { ids } = this.selection;
    const rows = (found: string[]) => found.flatMap((id) => this.store.rows.get(id) ?? []);
    const shown = this.grid.ids.filter((id) => ids.has(id));
    return { shown: rows(shown), hidden: rows([...ids].filter((id) => !shown.includes(id))) };
  }

  private get order(): Order {
    return { key: this.model.get("sort_by") as SortKey, descending: this.model.get("descending") };
  }

  private get filters(): Filters {
    return { ...NO_FILTERS, ...this.model.get("filters") };
  }

  private set(changes: Partial<Traits>): void {
    for (const [name, value] of Object.entries(changes)) this.model.set(name as keyof Traits, value as never);
    this.model.save_changes();
  }
}

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-run-table");
  // The notebook has its own meaning for most keys.
  el.dataset["lmSuppressShortcuts"] = "true";
  new RunTableView(model, el).start(signal);
}

export default widget({ render });
