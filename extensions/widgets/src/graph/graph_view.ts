// The graphs of a model or of artifacts: one or two side by side, with search, details and an outline.

import type { AnyModel, RenderProps } from "@anywidget/types";
import { element, freshId } from "../element";
import { onThemeChange } from "../theme";
import { DetailsPanel, type DetailsSource } from "./details_panel";
import { GraphData, inflated, type Item, type MadeBy } from "./graph_data";
import "./graph_view.css";
import { Heat, type Painted, type PaintBy } from "./heat";
import { KernelLine } from "./kernel_line";
import { LayoutClient } from "./layout_client";
import { MARKS } from "./marks";
import { NodeTree } from "./node_tree";
import { Pane } from "./pane";
import { SearchIndex } from "./search";

interface Traits {
  status: string;
  message: string;
  name: string;
  graphs: string[];
  shown: string[];
  opened: Record<string, string[]>;
  selected_graph: string;
  selected_node: number;
  query: string;
  paint_by: string;
  painted_note: string;
}

const HINT =
  "Arrow keys walk along edges, Enter opens and closes a group, / searches, Escape goes outwards, " +
  "+ and − zoom, 0 fits; drag to move.";

class GraphView {
  private readonly panes = new Map<string, Pane>();
  private readonly indexes = new Map<string, SearchIndex>();
  private readonly painted = new Map<string, Painted>();
  private readonly asked = new Set<string>();
  private readonly layouts = new LayoutClient();
  private readonly kernel: KernelLine;
  private active = "";
  private matches: { key: string; node: number }[] = [];
  private match = -1;
  private readonly tabs = element("div", { class: "wb-graph-tabs", role: "group", "aria-label": "Graphs" });
  private readonly search = element("input", { type: "search", placeholder: "Search: Conv, norm, 16×8", "aria-label": "Search" });
  private readonly count = element("span", { class: "wb-note wb-graph-count", role: "status" });
  private readonly paint = element("select", { "aria-label": "Colour by" });
  private readonly row = element("div", { class: "wb-graph-panes" });
  private readonly details = new DetailsPanel();
  private readonly tree: NodeTree;
  private readonly outline: HTMLDetailsElement;
  private readonly said = element("div", { class: "wb-graph-said", role: "status" });
  private readonly legend = element("ul", { class: "wb-graph-legend", "aria-label": "Legend" });
  private readonly note = element("p", { class: "wb-note" });
  private readonly state = element("div", { class: "wb-graph-state", role: "status" });
  private readonly body: HTMLElement;

  constructor(
    private readonly model: AnyModel<Traits>,
    private readonly el: HTMLElement,
    signal: AbortSignal,
  ) {
    this.kernel = new KernelLine((content) => model.send(content));
    this.tree = new NodeTree({
      onSelect: (item) => this.select(this.active, item),
      onToggle: (group) => void this.pane?.toggle(group),
    });
    this.outline = element("details", { class: "wb-graph-outline" }, element("summary", {}, "Outline"), this.tree.root);
    this.outline.addEventListener("toggle", () => this.fillTree());
    const side = element("aside", { class: "wb-graph-side" }, this.details.root, this.outline);
    this.body = element(
      "div",
      { class: "wb-graph-body" },
      this.toolbar(),
      element("div", { class: "wb-graph-main" }, this.row, side),
      this.legend,
      this.note,
      element("p", { class: "wb-note wb-graph-keys" }, HINT),
      this.said,
    );
    el.classList.add("wb", "wb-graph");
    el.append(this.state, this.body);
    const onMessage = (content: Record<string, unknown>, buffers: DataView[]) => void this.receive(content, buffers);
    model.on("msg:custom", onMessage);
    const changes: [string, () => void][] = [
      ["change:status", () => this.update()],
      ["change:message", () => this.update()],
      ["change:graphs", () => this.update()],
      ["change:shown", () => this.update()],
      ["change:opened", () => this.followOpened()],
      ["change:selected_graph", () => void this.followSelection(true)],
      ["change:selected_node", () => void this.followSelection(true)],
      ["change:query", () => this.followQuery()],
      ["change:paint_by", () => this.followPaint()],
      ["change:painted_note", () => this.followPaint()],
    ];
    for (const [event, follow] of changes) model.on(event, follow);
    onThemeChange(() => this.restyle(), signal);
    signal.addEventListener("abort", () => {
      model.off("msg:custom", onMessage);
      for (const [event, follow] of changes) model.off(event, follow);
      for (const pane of this.panes.values()) pane.close();
      this.layouts.close();
    });
    this.search.value = model.get("query");
    this.update();
  }

  private get pane(): Pane | undefined {
    return this.panes.get(this.active);
  }

  private toolbar(): HTMLElement {
    const button = (label: string, title: string, onClick: () => void) => {
      const made = element("button", { type: "button", class: "wb-toggle", title, "aria-label": title }, label);
      made.addEventListener("click", onClick);
      return made;
    };
    this.search.dataset["lmSuppressShortcuts"] = "true";
    this.search.addEventListener("input", () => this.setQuery(this.search.value));
    this.search.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") void this.goToMatch(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") {
        if (this.search.value) this.setQuery("");
        this.pane?.surface.focus();
      } else return;
      event.preventDefault();
    });
    const options: [string, string][] = [["", "origin"], ["time", "time"], ["memory", "memory"]];
    this.paint.append(...options.map(([value, label]) => element("option", { value }, label)));
    this.paint.addEventListener("change", () => this.save("paint_by", this.paint.value));
    const colour = element("label", { class: "wb-graph-paint" }, "Colour by ", this.paint);
    const find = element(
      "div",
      { class: "wb-graph-search", role: "search" },
      this.search,
      button("↑", "Previous match", () => void this.goToMatch(-1)),
      button("↓", "Next match", () => void this.goToMatch(1)),
      this.count,
    );
    const tools = element(
      "div",
      { class: "wb-graph-tools" },
      button("−", "Zoom out", () => this.pane?.zoom(0.8)),
      button("+", "Zoom in", () => this.pane?.zoom(1.25)),
      button("Fit", "Show the whole graph", () => this.panes.forEach((pane) => pane.fit())),
      button("SVG", "Save the graph as SVG", () => this.saveSvg()),
      button("JSON", "Save for Model Explorer", () => this.model.send({ kind: "model-explorer", shown: this.model.get("shown") })),
    );
    return element("div", { class: "wb-graph-bar" }, this.tabs, find, colour, tools);
  }

  /** Follows what the kernel says of all: loading, failed, which graphs are shown. */
  private update(): void {
    const { model } = this;
    const status = model.get("status");
    this.state.dataset["status"] = status;
    this.state.textContent = status === "loading" ? `${sentence(model.get("message"))}…` : model.get("message");
    this.state.hidden = status === "ready";
    this.body.hidden = model.get("graphs").length === 0;
    this.el.setAttribute("aria-busy", String(status === "loading"));
    const shown = model.get("shown");
    const focused = this.tabs.contains(document.activeElement) ? document.activeElement?.textContent : null;
    this.tabs.replaceChildren(...model.get("graphs").map((key) => this.tab(key, shown.includes(key))));
    for (const tab of this.tabs.children) if (tab.textContent === focused) (tab as HTMLElement).focus();
    if (status !== "ready") return;
    for (const key of shown) this.ask(key);
    this.arrange();
  }

  private tab(key: string, isShown: boolean): HTMLElement {
    const pressed = String(isShown);
    const made = element("button", { type: "button", class: "wb-toggle", "aria-pressed": pressed }, key);
    made.title = isShown ? `Hide the ${key} graph` : `Show the ${key} graph; two stand side by side`;
    made.addEventListener("click", () => {
      const shown = this.model.get("shown");
      const without = shown.filter((each) => each !== key);
      if (isShown && without.length === 0) return;
      const order = this.model.get("graphs");
      const next = isShown ? without : [...shown.slice(-1), key];
      this.save("shown", next.sort((a, b) => order.indexOf(a) - order.indexOf(b)));
      this.update();
    });
    return made;
  }

  private ask(key: string): void {
    if (this.panes.has(key) || this.asked.has(key)) return;
    this.asked.add(key);
    this.model.send({ kind: "graph", key });
  }

  private async receive(content: Record<string, unknown>, buffers: DataView[]): Promise<void> {
    const key = String(content["key"] ?? "");
    if (content["kind"] === "reset") this.forget();
    else if (content["kind"] === "graph") await this.addPane(key, buffers[0]!);
    else if (content["kind"] === "painted") {
      this.painted.set(key, { engine: String(content["engine"]), times: floats(buffers[0]!), bytes: floats(buffers[1]!) });
      this.followPaint();
    } else if (content["kind"] === "model-explorer") {
      download(new Blob([buffers[0] as unknown as BlobPart]), `${String(content["name"])}.json`);
    } else if (content["kind"] === "refused" && !this.kernel.settle(content)) this.say(String(content["message"]));
    else this.kernel.settle(content);
  }

  private forget(): void {
    for (const pane of this.panes.values()) pane.close();
    this.panes.clear();
    this.indexes.clear();
    this.painted.clear();
    this.asked.clear();
    this.row.replaceChildren();
    this.details.showNothing();
    this.update();
  }

  private async addPane(key: string, bytes: DataView): Promise<void> {
    if (this.panes.has(key)) return;
    const data = new GraphData(await inflated(bytes));
    if (this.panes.has(key)) return;
    const pane = new Pane(data, this.layouts, {
      onSelect: (item) => this.select(key, item),
      onOpened: (groups) => {
        const paths = [...groups].map((group) => data.groupPaths[group]!);
        this.save("opened", { ...this.model.get("opened"), [key]: paths });
      },
      onScene: () => {
        this.link();
        if (key === this.active) this.fillTree();
      },
      onSearch: () => this.search.focus(),
    });
    this.panes.set(key, pane);
    this.indexes.set(key, new SearchIndex(data));
    pane.surface.addEventListener("focus", () => this.activate(key));
    this.arrange();
    await pane.show(this.openedGroups(pane));
    this.followPaint();
    this.followQuery();
    await this.followSelection(false);
  }

  /** Puts the panes that are shown side by side. */
  private arrange(): void {
    const shown = this.model.get("shown");
    const wanted = shown.map((key) => this.panes.get(key)?.root ?? waiting(key));
    const same = wanted.length === this.row.children.length && wanted.every((each, i) => this.row.children[i] === each);
    if (!same) this.row.replaceChildren(...wanted);
    this.row.dataset["count"] = String(shown.length);
    if (!shown.includes(this.active)) this.active = shown[0] ?? "";
    this.activate(this.active);
    this.fillLegend();
  }

  private activate(key: string): void {
    this.active = key;
    for (const [each, pane] of this.panes) pane.root.classList.toggle("wb-active", each === key);
    this.fillTree();
  }

  private select(key: string, item: Item | null): void {
    const pane = this.panes.get(key);
    if (!pane) return;
    this.activate(key);
    for (const other of this.panes.values()) other.selected = other === pane ? item : null;
    // A group is selected here alone: the kernel knows of nodes.
    this.save("selected_graph", item !== null && item >= 0 ? key : "", false);
    this.save("selected_node", item !== null && item >= 0 ? item : -1);
    if (item !== null) pane.look(item);
    this.showSelection();
  }

  private async followSelection(reveal: boolean): Promise<void> {
    const key = this.model.get("selected_graph");
    const node = this.model.get("selected_node");
    const pane = this.panes.get(key);
    if (!pane || node < 0 || pane.selected === node || node >= pane.data.nodeCount) return;
    for (const other of this.panes.values()) other.selected = null;
    pane.selected = node;
    this.activate(key);
    if (reveal || !pane.scene?.box.has(node)) await pane.reveal(node);
    this.showSelection();
  }

  private showSelection(): void {
    this.link(true);
    const pane = this.pane;
    const item = pane?.selected ?? null;
    this.tree.select(item);
    for (const each of this.panes.values()) each.redraw();
    if (!pane || item === null) {
      this.details.showNothing();
      return;
    }
    const { data } = pane;
    const heat = pane.heat?.of(item)?.text ?? "";
    const spoken = item < 0 ? `group, ${data.sizes[-item]!} nodes` : data.names[item]!;
    const origin = item < 0 ? "" : MARKS[data.madeBy(item)].label;
    const mark = origin && origin !== MARKS.export.label ? `, ${origin}` : "";
    const state = item < 0 ? (pane.open.has(-item) ? ", open" : ", closed") : "";
    this.say(`${data.label(item)}, ${spoken}${mark}${state}`);
    if (item < 0) this.details.showGroup(data, item, heat);
    else void this.details.showNode(data, item, heat, this.source(data.key));
  }

  private source(key: string): DetailsSource {
    return {
      details: (index) => this.kernel.ask({ kind: "details", key, index }, "details"),
      tensor: (name) => this.kernel.ask({ kind: "tensor", key, name }, "summary"),
    };
  }

  /** Marks in the other graph what belongs to the selected node, by the recorded origins. */
  private link(look = false): void {
    const from = this.pane;
    for (const [key, pane] of this.panes) {
      const nodes = from && key !== from.data.key ? linkedNodes(from, pane) : [];
      const boxes = new Set(nodes.map((node) => pane.scene?.visible.boxOf(node) ?? node));
      pane.linked = boxes;
      const [first] = boxes;
      if (look && first !== undefined && this.model.get("shown").includes(key)) pane.look(first);
      pane.redraw();
    }
  }

  private openedGroups(pane: Pane): Set<number> {
    const paths = new Set(this.model.get("opened")[pane.data.key] ?? []);
    return new Set([...pane.data.groupPaths.keys()].filter((group) => group && paths.has(pane.data.groupPaths[group]!)));
  }

  private followOpened(): void {
    for (const pane of this.panes.values()) {
      const open = this.openedGroups(pane);
      if (open.size === pane.open.size && [...open].every((group) => pane.open.has(group))) continue;
      void pane.show(open);
    }
  }

  private setQuery(query: string): void {
    this.save("query", query);
    this.followQuery();
  }

  private followQuery(): void {
    const query = this.model.get("query");
    if (this.search.value !== query) this.search.value = query;
    this.matches = [];
    this.match = -1;
    for (const key of this.model.get("shown")) {
      const found = this.indexes.get(key)?.find(query) ?? [];
      const pane = this.panes.get(key);
      if (pane) pane.found = found;
      pane?.redraw();
      this.matches.push(...found.map((node) => ({ key, node })));
    }
    const total = this.matches.length.toLocaleString("en");
    this.count.textContent = query.trim() ? `${total} ${this.matches.length === 1 ? "match" : "matches"}` : "";
  }

  private async goToMatch(by: number): Promise<void> {
    const count = this.matches.length;
    if (count === 0) return;
    this.match = this.match < 0 ? (by > 0 ? 0 : count - 1) : (this.match + by + count) % count;
    const { key, node } = this.matches[this.match]!;
    await this.panes.get(key)?.reveal(node);
    this.select(key, node);
    this.count.textContent = `${this.match + 1} of ${count.toLocaleString("en")}`;
  }

  private followPaint(): void {
    const by = this.model.get("paint_by");
    const canPaint = this.painted.size > 0;
    this.paint.parentElement!.hidden = !canPaint;
    this.paint.value = by;
    for (const [key, pane] of this.panes) {
      const painted = this.painted.get(key);
      pane.heat = by && painted ? new Heat(pane.data, painted, by as PaintBy) : null;
      pane.redraw();
    }
    this.note.textContent = by ? this.model.get("painted_note") : "";
    this.fillLegend();
    this.showHeat();
  }

  private showHeat(): void {
    const item = this.pane?.selected ?? null;
    if (item !== null) this.showSelection();
  }

  private fillLegend(): void {
    const heat = [...this.panes.values()].find((pane) => pane.heat)?.heat;
    if (heat) {
      const scale = element("span", { class: "wb-heat-scale", "aria-hidden": "true" });
      const text = heat.by === "time" ? "time of a node in one step" : "memory of a node's results";
      this.legend.replaceChildren(element("li", {}, `0 `, scale, ` ${heat.format(heat.hottest)}: ${text}`));
      return;
    }
    const there = new Set<MadeBy>();
    for (const key of this.model.get("shown")) {
      const data = this.panes.get(key)?.data;
      for (let node = 0; data && node < data.nodeCount; node++) {
        if (data.kind(node) === "operator") there.add(data.madeBy(node));
      }
    }
    const kinds = (Object.keys(MARKS) as MadeBy[]).filter((kind) => there.has(kind));
    const entries = kinds.length > 1 ? kinds : [];
    this.legend.replaceChildren(
      ...entries.map((kind) =>
        element(
          "li",
          {},
          element("span", { class: "wb-mark-sample", "data-made": kind, "aria-hidden": "true" }, MARKS[kind].letter),
          MARKS[kind].label,
        ),
      ),
    );
  }

  private fillTree(): void {
    const pane = this.pane;
    if (!this.outline.open || !pane?.scene) return;
    this.tree.show(pane.data, pane.scene.visible, pane.selected);
  }

  private saveSvg(): void {
    const pane = this.pane;
    if (pane) download(new Blob([pane.svg()], { type: "image/svg+xml" }), `${pane.data.title}.svg`);
  }

  private restyle(): void {
    for (const pane of this.panes.values()) pane.restyle();
  }

  private say(text: string): void {
    if (this.said.textContent !== text) this.said.textContent = text;
  }

  private save<Name extends keyof Traits>(name: Name, value: Traits[Name], now = true): void {
    this.model.set(name, value);
    if (now) this.model.save_changes();
  }
}

/** Nodes of `to` that stand for what is selected in `from`, or that it stands for. */
export function linkedNodes(from: Pane, to: Pane): number[] {
  const item = from.selected;
  if (item === null || item < 0) return [];
  if (to.data.key === "forward") return [...from.data.origins(item)];
  if (from.data.key !== "forward") return [];
  const found: number[] = [];
  for (let node = 0; node < to.data.nodeCount; node++) if (to.data.origins(node).includes(item)) found.push(node);
  return found;
}

function floats(data: DataView): Float32Array {
  return new Float32Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength));
}

function waiting(key: string): HTMLElement {
  return element("section", { class: "wb-graph-pane wb-graph-waiting" }, `Reading the ${key} graph…`);
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function download(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = element("a", { href: url, download: name, id: freshId("download") });
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function render({ model, el, signal }: RenderProps<Traits>): void {
  new GraphView(model, el, signal);
}

export default { render };
