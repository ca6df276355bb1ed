// The graphs of a model or of artifacts: one or two side by side, with search, details and an outline.

import type { AnyModel, RenderProps } from "@anywidget/types";
import { onKernelGone } from "../app/kernel";
import { download } from "../download";
import { element } from "../element";
import { guardKeys } from "../app/page_keys";
import { onThemeChange } from "../theme";
import { widget } from "../widget";
import { GraphData, inflated, type Item } from "./data/graph_data";
import { GraphState } from "./graph_state";
import { keepViewPlaceholder } from "../app/placeholder";
import { GraphToolbar } from "./graph_toolbar";
import "./graph_view.css";
import { paintedOf } from "./drawing/heat";
import { KernelLine } from "./side_panel/kernel_line";
import { LayoutClient } from "./layout/layout_client";
import { Matches } from "./data/matches";
import { Painting } from "./panes/painting";
import { Pane } from "./panes/pane";
import { KEYS, PaneInput } from "./panes/pane_input";
import { PaneRow } from "./panes/pane_row";
import { SidePanel } from "./side_panel/side_panel";

interface Traits {
  /** Its own id where it is shown alone; empty: it is a part of a page. */
  page_id: string;
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

class GraphView {
  private readonly row = new PaneRow();
  private readonly panes = this.row.panes;
  private readonly painting = new Painting();
  private readonly asked = new Set<string>();
  private readonly layouts = new LayoutClient();
  private readonly kernel: KernelLine;
  private readonly matches = new Matches();
  private readonly toolbar: GraphToolbar;
  private readonly side: SidePanel;
  private readonly state = new GraphState();
  private readonly body: HTMLElement;

  constructor(
    private readonly model: AnyModel<Traits>,
    private readonly el: HTMLElement,
    signal: AbortSignal,
  ) {
    this.kernel = new KernelLine((content) => model.send(content));
    this.toolbar = new GraphToolbar({
      onShown: (shown) => {
        this.save("shown", shown);
        this.update();
        this.followQuery();
      },
      onQuery: (query) => {
        this.save("query", query);
        this.followQuery();
        if (this.matches.none) this.select(this.row.active, null); // it is no result of this search
      },
      onMatch: (by) => void this.goToMatch(by),
      onLeaveSearch: () => this.pane?.surface.focus(),
      onPaint: (by) => this.save("paint_by", by),
      onZoom: (factor) => this.pane?.zoom(factor),
      onFit: () => this.panes.forEach((pane) => pane.fit()),
      onSaveSvg: () => this.saveSvg(),
      onSaveJson: (kind) => model.send({ kind, shown: model.get("shown"), by: model.get("paint_by") }),
    });
    this.side = new SidePanel(this.kernel, {
      onSelect: (item) => this.select(this.row.active, item),
      onClose: () => {
        this.select(this.row.active, null);
        this.pane?.surface.focus();
      },
      onToggle: (group) => void this.pane?.toggle(group),
      onOutline: () => this.fillTree(),
    });
    const grown = new ResizeObserver(() => this.pane?.uncover());
    grown.observe(this.side.root);
    signal.addEventListener("abort", () => grown.disconnect());
    this.body = element(
      "div",
      { class: "wb-graph-body" },
      this.toolbar.root,
      element("div", { class: "wb-graph-main" }, this.row.root, this.side.root),
      this.painting.legend,
      this.painting.note,
      element("p", { class: "wb-note wb-graph-keys" }, KEYS),
      this.side.said,
    );
    el.classList.add("wb", "wb-graph");
    guardKeys();
    el.append(this.state.root, this.body);
    const onMessage = (content: Record<string, unknown>, buffers: DataView[]) => void this.receive(content, buffers);
    model.on("msg:custom", onMessage);
    const on = (names: string[], follow: () => void) => names.map((name) => [`change:${name}`, follow] as const);
    const changes = [
      ...on(["status", "message", "graphs", "shown"], () => this.update()),
      ...on(["opened"], () => this.followOpened()),
      ...on(["selected_graph", "selected_node"], () => void this.followSelection(true)),
      ...on(["query", "shown"], () => this.followQuery()),
      ...on(["paint_by", "painted_note"], () => this.followPaint()),
    ];
    for (const [event, follow] of changes) model.on(event, follow);
    onThemeChange(() => this.panes.forEach((pane) => pane.restyle()), signal);
    signal.addEventListener("abort", () => {
      model.off("msg:custom", onMessage);
      for (const [event, follow] of changes) model.off(event, follow);
      this.row.clear();
      this.layouts.close();
    });
    this.toolbar.showQuery(model.get("query"));
    this.update();
    keepViewPlaceholder(model, model.get("page_id"));
    onKernelGone(model, () => this.lose(), signal);
  }

  private get pane(): Pane | undefined {
    return this.row.pane;
  }

  /** Follows what the kernel says of all: loading, failed, which graphs are shown. */
  private update(): void {
    const { model } = this;
    const status = model.get("status");
    this.state.show(status, model.get("message"));
    this.body.hidden = model.get("graphs").length === 0;
    this.el.setAttribute("aria-busy", String(status === "loading" && !this.state.gone));
    const shown = model.get("shown");
    this.toolbar.showGraphs(model.get("graphs"), shown);
    if (status !== "ready") return;
    for (const key of shown) this.ask(key);
    this.arrange();
  }

  /** Data that has arrived stays visible; requests to the kernel are rejected. */
  private lose(): void {
    this.state.lose();
    this.kernel.lose("Not known: the kernel is gone.");
    this.row.lose();
    this.toolbar.loseKernel();
    this.update();
  }

  private ask(key: string): void {
    if (this.state.gone || this.panes.has(key) || this.asked.has(key)) return;
    this.asked.add(key);
    this.model.send({ kind: "graph", key });
  }

  private async receive(content: Record<string, unknown>, buffers: DataView[]): Promise<void> {
    const key = String(content["key"] ?? "");
    if (content["kind"] === "reset") this.forget();
    else if (content["kind"] === "graph") await this.addPane(key, buffers[0]!);
    else if (content["kind"] === "painted") {
      this.painting.add(key, paintedOf(content, buffers));
      this.followPaint();
    } else if (content["kind"] === "file") {
      download(String(content["name"]), buffers[0] as DataView<ArrayBuffer>);
    } else if (!this.kernel.settle(content) && content["kind"] === "refused") this.side.say(String(content["message"]));
  }

  private forget(): void {
    this.row.clear();
    this.matches.clear();
    this.painting.forget();
    this.asked.clear();
    this.side.showNothing();
    this.update();
  }

  private async addPane(key: string, bytes: DataView): Promise<void> {
    if (this.panes.has(key)) return;
    const data = new GraphData(await inflated(bytes));
    if (this.panes.has(key)) return;
    const pane = new Pane(data, this.layouts, {
      onOpened: (groups) => {
        this.save("opened", { ...this.model.get("opened"), [key]: [...groups].map((group) => data.groupPaths[group]!) });
      },
      onScene: () => {
        this.row.link(this.model.get("shown"), false);
        if (key !== this.row.active) return;
        this.fillTree();
        if ((pane.selected ?? 0) < 0) this.side.showSelection(pane); // which says whether a group is open
      },
    });
    new PaneInput(pane, { onSelect: (item) => this.select(key, item), onSearch: () => this.toolbar.search.focus() });
    this.panes.set(key, pane);
    this.matches.add(key, data);
    pane.surface.addEventListener("focus", () => this.activate(key));
    this.arrange();
    await pane.show(this.openedGroups(pane));
    this.followPaint();
    this.followQuery();
    await this.followSelection(false);
  }

  /** Puts the panes that are shown side by side. */
  private arrange(): void {
    const { active } = this.row;
    this.row.arrange(this.model.get("shown"));
    this.fillTree();
    this.fillLegend();
    // What was selected in a graph that is no longer shown is no longer told.
    if (this.row.active !== active) this.showSelection();
  }

  private activate(key: string): void {
    this.row.activate(key);
    this.fillTree();
  }

  private fillTree(): void {
    this.side.showTree(this.pane);
  }

  private select(key: string, item: Item | null): void {
    const pane = this.panes.get(key);
    if (!pane) return;
    this.activate(key);
    for (const other of this.panes.values()) other.selected = other === pane ? item : null;
    // A group is selected here alone: the kernel knows of nodes.
    this.save("selected_graph", item !== null && item >= 0 ? key : "", false);
    this.save("selected_node", item !== null && item >= 0 ? item : -1);
    this.showSelection();
    if (item !== null) pane.look(item); // beside its details
    if (item !== null && item < 0) pane.prepare(-item);
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
    this.row.link(this.model.get("shown"), true);
    this.panes.forEach((each) => each.redraw());
    this.side.showSelection(this.pane);
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

  private followQuery(): void {
    const query = this.model.get("query");
    this.toolbar.showQuery(query);
    this.row.mark(this.matches.begin(query, this.model.get("shown")));
    this.toolbar.showCount(this.matches.text);
  }

  private async goToMatch(by: number): Promise<void> {
    const match = this.matches.go(by);
    if (!match) return;
    await this.panes.get(match.key)?.reveal(match.item);
    this.select(match.key, match.item);
    this.toolbar.showCount(this.matches.text);
  }

  private followPaint(): void {
    const by = this.model.get("paint_by");
    this.toolbar.showPaint(by, this.painting.known);
    this.painting.apply(this.panes, by, this.model.get("painted_note"));
    this.fillLegend();
    if ((this.pane?.selected ?? null) !== null) this.showSelection();
  }

  private fillLegend(): void {
    this.painting.fillLegend(this.panes, this.model.get("shown"));
  }

  private saveSvg(): void {
    const pane = this.pane;
    if (pane) download(`${pane.data.title}.svg`, pane.svg(), "image/svg+xml");
  }

  private save<Name extends keyof Traits>(name: Name, value: Traits[Name], now = true): void {
    this.model.set(name, value);
    if (now) this.model.save_changes();
  }
}

export default widget({
  render({ model, el, signal }: RenderProps<Traits>): void {
    new GraphView(model, el, signal);
  },
});
