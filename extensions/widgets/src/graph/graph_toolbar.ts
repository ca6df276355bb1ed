// The bar above the graphs: which are shown, search, colours, zoom, files.

import { element } from "../element";

export interface ToolbarListener {
  /** The graphs to show, in their order. */
  onShown: (shown: string[]) => void;
  onQuery: (query: string) => void;
  /** Go to another match: 1 forwards, -1 backwards. */
  onMatch: (by: number) => void;
  onLeaveSearch: () => void;
  onPaint: (by: string) => void;
  onZoom: (factor: number) => void;
  onFit: () => void;
  onSaveSvg: () => void;
  /** The graphs, or what their nodes are painted with. */
  onSaveJson: (kind: "model-explorer" | "node-data") => void;
}

const PAINTS: [string, string][] = [["", "origin"], ["time", "time"], ["memory", "memory"]];

export class GraphToolbar {
  readonly root: HTMLElement;
  readonly search = element("input", { type: "search", placeholder: "Search nodes", "aria-label": "Search" });
  /** The graph that was shown last by a press. */
  private chosenLast = "";
  private readonly tabs = element("div", { class: "wb-graph-tabs", role: "group", "aria-label": "Graphs" });
  private readonly count = element("span", { class: "wb-note wb-graph-count", role: "status" });
  private readonly paint = element("select", { "aria-label": "Colour by" });
  private readonly colour = element("label", { class: "wb-graph-paint" }, "Colour by ", this.paint);

  private readonly json = button("JSON", "Save for Model Explorer", () => this.saveJson(this.json, "model-explorer"));
  private readonly costs = button("Node data", "Save time or memory of the nodes for Model Explorer", () =>
    this.saveJson(this.costs, "node-data"),
  );

  constructor(private readonly listener: ToolbarListener) {
    this.listenToSearch();
    this.paint.append(...PAINTS.map(([value, label]) => element("option", { value }, label)));
    this.paint.addEventListener("change", () => listener.onPaint(this.paint.value));
    const find = element(
      "div",
      { class: "wb-graph-search", role: "search" },
      element("span", { class: "wb-graph-field" }, this.search, this.count),
      button("↑", "Previous match", () => listener.onMatch(-1)),
      button("↓", "Next match", () => listener.onMatch(1)),
    );
    const tools = element(
      "div",
      { class: "wb-graph-tools" },
      button("−", "Zoom out", () => listener.onZoom(0.8)),
      button("+", "Zoom in", () => listener.onZoom(1.25)),
      button("Fit", "Show the whole graph", listener.onFit),
      button("SVG", "Save the graph as SVG", listener.onSaveSvg),
      this.json,
      this.costs,
    );
    this.root = element("div", { class: "wb-graph-bar" }, this.tabs, find, this.colour, tools);
  }

  /** A button for each graph; the focus stays where it was. */
  showGraphs(graphs: readonly string[], shown: readonly string[]): void {
    const focused = this.tabs.contains(document.activeElement) ? document.activeElement?.textContent : null;
    this.tabs.replaceChildren(...graphs.map((key) => this.tab(key, graphs, shown)));
    for (const tab of this.tabs.children) if (tab.textContent === focused) (tab as HTMLElement).focus();
  }

  /** The quantity that colours the nodes; not selectable without a profile. */
  showPaint(by: string, canPaint: boolean): void {
    this.colour.hidden = !canPaint;
    this.costs.hidden = !canPaint;
    this.paint.value = by;
  }

  /** Files for Model Explorer are written by the kernel, which is gone. */
  loseKernel(): void {
    for (const save of [this.json, this.costs]) {
      save.setAttribute("aria-disabled", "true");
      save.title = "A file for Model Explorer cannot be written without a kernel";
      save.setAttribute("aria-label", save.title);
    }
  }

  private saveJson(pressed: HTMLElement, kind: "model-explorer" | "node-data"): void {
    if (pressed.getAttribute("aria-disabled") !== "true") this.listener.onSaveJson(kind);
  }

  showQuery(query: string): void {
    if (this.search.value !== query) this.search.value = query;
  }

  showCount(text: string): void {
    this.count.textContent = text;
  }

  private listenToSearch(): void {
    const { listener, search } = this;
    search.dataset["lmSuppressShortcuts"] = "true";
    search.addEventListener("input", () => listener.onQuery(search.value));
    search.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") listener.onMatch(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") {
        if (search.value) listener.onQuery("");
        listener.onLeaveSearch();
      } else return;
      event.preventDefault();
    });
  }

  private tab(key: string, graphs: readonly string[], shown: readonly string[]): HTMLElement {
    const isShown = shown.includes(key);
    const made = element("button", { type: "button", class: "wb-toggle", "aria-pressed": String(isShown) }, key);
    made.title = isShown ? `Hide the ${key} graph` : `Show the ${key} graph; two stand side by side`;
    made.addEventListener("click", () => {
      const without = shown.filter((each) => each !== key);
      if (isShown && without.length === 0) return;
      // Of two the one that was chosen last stays beside the third.
      const last = shown.includes(this.chosenLast) ? this.chosenLast : shown.at(-1);
      if (!isShown) this.chosenLast = key;
      const next = isShown ? without : [...(last === undefined ? [] : [last]), key];
      this.listener.onShown(next.sort((a, b) => graphs.indexOf(a) - graphs.indexOf(b)));
    });
    return made;
  }
}

function button(label: string, title: string, onClick: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", class: "wb-toggle", title, "aria-label": title }, label);
  made.addEventListener("click", onClick);
  return made;
}
