// One graph on a canvas: its layout, what of it is open, and the part that is seen.

import { element } from "../../element";
import { counted } from "../../number_format";
import { zoomOf } from "../../zoom";
import { Camera } from "../drawing/camera";
import { draw, EVERYTHING, type Look } from "../drawing/draw";
import type { GraphData, Item } from "../data/graph_data";
import type { Heat } from "../drawing/heat";
import type { Point } from "../layout/layout";
import type { LayoutClient } from "../layout/layout_client";
import { type Palette, readPalette } from "../drawing/marks";
import { Minimap } from "../drawing/minimap";
import { CanvasPainter, SvgPainter } from "../drawing/painter";
import { type Scene, SceneMaker } from "../drawing/scene";
import { SceneRequests } from "./scene_requests";
import { visiblePart } from "./visible_part";
import { step } from "./walk";

export interface PaneListener {
  onOpened: (groups: ReadonlySet<number>) => void;
  onScene: () => void;
}

/** How long a layout may take before the pane says that it is in progress, in milliseconds. */
const PATIENCE_MS = 150;
/** The smallest scale at which the first view of a graph can be read. */
const READABLE = 0.55;

export class Pane {
  readonly root: HTMLElement;
  readonly surface = element("div", { class: "wb-graph-surface", tabindex: "0", role: "application" });
  open = new Set<number>();
  scene: Scene | null = null;
  selected: Item | null = null;
  linked: ReadonlySet<Item> = new Set();
  found: readonly Item[] = [];
  heat: Heat | null = null;
  private readonly canvas = element("canvas", { "aria-hidden": "true" });
  readonly camera = new Camera();
  private readonly minimap: Minimap;
  private readonly requests: SceneRequests;
  private readonly busy = element("div", { class: "wb-graph-busy", role: "status", hidden: "" });
  private readonly resized: ResizeObserver;
  private palette: Palette | null = null;
  private painter: CanvasPainter | null = null;
  private frame = 0;
  /** What stays in view when the surface is resized; nothing once the user has panned or zoomed. */
  private inView: "beginning" | "whole" | "nothing" = "beginning";
  private seenWidth = 0;

  constructor(
    readonly data: GraphData,
    layouts: LayoutClient,
    private readonly listener: PaneListener,
  ) {
    const maker = new SceneMaker(data, (input, signal) => layouts.layOut(input, signal));
    this.requests = new SceneRequests(maker);
    this.minimap = new Minimap((center) => {
      const { width, height } = this.size;
      this.camera.x = center.x - width / this.camera.scale / 2;
      this.camera.y = center.y - height / this.camera.scale / 2;
      this.redraw();
    });
    const count = counted(data.operatorCount, "node");
    const head = element(
      "div",
      { class: "wb-graph-head" },
      element("h3", {}, data.key),
      element("span", { class: "wb-note" }, count),
    );
    this.surface.append(this.canvas, this.minimap.root, this.busy);
    this.surface.setAttribute("aria-label", `Graph ${data.title}, ${count}. Arrow keys move along edges.`);
    // The notebook's own shortcuts are not meant while the graph has the focus.
    this.surface.dataset["lmSuppressShortcuts"] = "true";
    const notices = data.notices.map((notice) => element("p", { class: "wb-note" }, notice));
    this.root = element("section", { class: "wb-graph-pane", "aria-label": data.title }, head, ...notices, this.surface);
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(this.surface);
  }

  /** Whether it says that a layout is in progress. */
  get isBusy(): boolean {
    return !this.busy.hidden;
  }

  /** Opens exactly these groups; keeps `anchor` where it stands. Gives up what is in progress. */
  async show(open: ReadonlySet<number>, anchor: Item | null = null): Promise<boolean> {
    const request = this.requests.ask(open);
    const timer = window.setTimeout(() => this.sayBusy(), PATIENCE_MS);
    const scene = await request.scene;
    window.clearTimeout(timer);
    if (this.requests.isLast(request)) this.busy.hidden = true;
    if (!scene) return false;
    const first = this.scene === null;
    const before = anchor === null ? undefined : this.scene?.box.get(anchor);
    this.open = new Set(open);
    this.scene = scene;
    const after = anchor === null ? undefined : scene.box.get(anchor);
    if (before && after) {
      this.camera.x += after.x - before.x;
      this.camera.y += after.y - before.y;
    }
    if (this.selected !== null && !scene.box.has(this.selected)) {
      this.selected = this.selected < 0 ? null : scene.visible.boxOf(this.selected);
    }
    this.takePalette(scene);
    if (first) this.camera.begin(scene, this.size, READABLE, this.minimap.size);
    this.listener.onScene();
    this.redraw();
    return true;
  }

  /** Lays out what opening a closed group would show, as whoever selects one may open it next. */
  prepare(group: number): void {
    this.requests.prepare(this.open.has(group) ? null : new Set(this.open).add(group));
  }

  /** Opens or closes one group. */
  async toggle(group: number): Promise<void> {
    const open = new Set(this.open);
    if (!open.delete(group)) open.add(group);
    if (await this.show(open, -group)) {
      const box = this.scene?.box.get(-group);
      if (box && open.has(group)) {
        this.camera.reveal(box, this.visible, this.minimap.covered);
        // Of a group that is larger than the surface, the corner may be empty.
        const first = this.scene && this.scene.box.get(step(this.scene, -group, "down") ?? -group);
        if (first) this.camera.reveal(first, this.visible, this.minimap.covered);
        this.moveBesideMap();
      }
      this.redraw();
      this.listener.onOpened(this.open);
    }
  }

  /** Opens the groups around an item and brings it into view. */
  async reveal(item: Item): Promise<void> {
    const open = new Set(this.open);
    for (let group = this.data.around(item); group > 0; group = this.data.groupParents[group]!) open.add(group);
    const changed = open.size > this.open.size;
    if (changed && !(await this.show(open))) return;
    if (changed) this.listener.onOpened(this.open);
    this.look(item);
  }

  /** Brings a box into view. */
  look(item: Item): void {
    const box = this.scene?.box.get(item);
    if (!box) return;
    this.inView = "nothing";
    if (this.camera.scale < READABLE) {
      const { width, height } = this.visible;
      this.camera.scale = 0.8;
      this.camera.x = box.x + box.width / 2 - width / 2 / 0.8;
      this.camera.y = box.y + box.height / 2 - height / 2 / 0.8;
    }
    this.camera.reveal(box, this.visible, this.minimap.covered);
    this.moveBesideMap();
    this.redraw();
  }

  private moveBesideMap(): void {
    if (this.scene) this.camera.moveBeside(this.scene, this.size, this.minimap.covered);
  }

  /** Brings what is selected out from under the details, which may have grown over it. */
  uncover(): void {
    const box = this.selected === null ? undefined : this.scene?.box.get(this.selected);
    if (!box) return;
    const end = this.camera.toSurface({ x: box.x, y: box.y + box.height }).y;
    if (end > this.visible.height && end <= this.size.height) this.look(this.selected!);
  }

  fit(): void {
    if (!this.scene) return;
    this.inView = "whole";
    this.camera.fit(this.scene, this.visible);
    this.redraw();
  }

  /** Scales by `factor` around a point of the surface: its middle, if none is given. */
  zoom(factor: number, at?: Point): void {
    const { width, height } = this.size;
    this.inView = "nothing";
    this.camera.zoom(factor, at ?? { x: width / 2, y: height / 2 });
    this.redraw();
  }

  pan(dx: number, dy: number): void {
    this.inView = "nothing";
    this.camera.pan(dx, dy);
    this.redraw();
  }

  /** The theme has changed. */
  restyle(): void {
    this.palette = null;
    this.painter = null;
    this.redraw();
  }

  redraw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.drawNow();
    });
  }

  /** The whole scene as an SVG file. */
  svg(): string {
    const palette = this.palette ?? readPalette(this.root);
    const painter = new SvgPainter();
    const { scene } = this;
    if (!scene) return "";
    const look = { ...this.lookNow(palette), selected: null, linked: new Set<Item>(), found: new Map<Item, number>() };
    draw(painter, this.data, scene, look, EVERYTHING);
    return painter.document(scene.width, scene.height, palette.surface, palette.font, this.data.title);
  }

  close(): void {
    this.requests.close();
    this.resized.disconnect();
    cancelAnimationFrame(this.frame);
  }

  private get visible() {
    return visiblePart(this.surface, this.size);
  }

  private get size() {
    return { width: this.surface.clientWidth, height: this.surface.clientHeight };
  }

  private drawNow(): void {
    const { scene } = this;
    const { width, height } = this.size;
    if (!scene || !width || !height) return;
    const palette = this.palette ?? this.takePalette(scene);
    const ratio = (window.devicePixelRatio || 1) * zoomOf(this.root); // else a presentation is blurred
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const context = this.painter?.context ?? this.canvas.getContext("2d");
    if (!context) return;
    this.painter ??= new CanvasPainter(context, palette.font);
    const { x, y, scale } = this.camera;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.setTransform(scale * ratio, 0, 0, scale * ratio, -x * scale * ratio, -y * scale * ratio);
    const view = { left: x, top: y, right: x + width / scale, bottom: y + height / scale, scale };
    draw(this.painter, this.data, scene, this.lookNow(palette), view);
    this.minimap.draw(this.camera, this.size, palette);
  }

  /** The colours of the theme, with which the minimap is drawn; none last where the pane is not shown. */
  private takePalette(scene: Scene): Palette {
    const palette = readPalette(this.root);
    this.palette = this.root.isConnected ? palette : null;
    this.minimap.show(this.data, scene, palette);
    return palette;
  }

  private lookNow(palette: Palette): Look {
    const found = new Map<Item, number>();
    if (this.scene) {
      for (const item of this.found) {
        const box = this.scene.visible.boxOf(item);
        // A group that is found itself counts what is found in it.
        found.set(box, (found.get(box) ?? 0) + (item < 0 && box === item ? 0 : 1));
      }
    }
    const heat = this.heat;
    return {
      palette,
      selected: this.selected,
      linked: this.linked,
      found,
      heat: heat && ((item: Item) => heat.of(item)),
    };
  }

  /** Keeps what is in the middle there, unless all of the graph or its beginning is in view. */
  private resize(): void {
    const { size } = this;
    if (!size.width || !size.height) return;
    if (this.scene && this.inView === "beginning") this.camera.begin(this.scene, size, READABLE, this.minimap.size);
    else if (this.scene && this.inView === "whole") this.camera.fit(this.scene, this.visible);
    else {
      this.camera.x += (this.seenWidth - size.width) / 2 / this.camera.scale;
      this.moveBesideMap();
    }
    this.seenWidth = size.width;
    this.redraw();
  }

  private sayBusy(): void {
    const cancel = element("button", { type: "button", class: "wb-toggle" }, "Cancel");
    cancel.addEventListener("click", () => this.cancel());
    this.busy.replaceChildren("Laying out… ", cancel);
    this.busy.hidden = false;
  }

  /** Gives up the layout that is in progress. */
  cancel(): void {
    const focused = this.busy.contains(document.activeElement);
    this.requests.cancel();
    this.busy.hidden = true;
    if (focused) this.surface.focus({ preventScroll: true });
  }
}
