// Beside the graphs: what the selected node is, an outline, and the same for those who listen.

import { element } from "../../element";
import { DetailsPanel, type DetailsSource } from "./details_panel";
import type { Item } from "../data/graph_data";
import type { KernelLine } from "./kernel_line";
import { MARKS } from "../drawing/marks";
import { NodeTree } from "./node_tree";
import type { Pane } from "../panes/pane";

export interface SideListener {
  onSelect: (item: Item | null) => void;
  /** The details were closed. */
  onClose: () => void;
  onToggle: (group: number) => void;
  /** The outline was opened, and has to be filled. */
  onOutline: () => void;
}

export class SidePanel {
  readonly root: HTMLElement;
  /** Not seen, but read aloud. */
  readonly said = element("div", { class: "wb-graph-said", role: "status" });
  private readonly details: DetailsPanel;
  private readonly tree: NodeTree;
  private readonly outline: HTMLDetailsElement;

  constructor(
    private readonly kernel: KernelLine,
    listener: SideListener,
  ) {
    this.details = new DetailsPanel(listener.onClose);
    this.tree = new NodeTree(listener);
    this.outline = element("details", { class: "wb-graph-outline" }, element("summary", {}, "Outline"), this.tree.root);
    this.outline.addEventListener("toggle", listener.onOutline);
    this.root = element("aside", { class: "wb-graph-side" }, this.details.root, this.outline);
  }

  showNothing(): void {
    this.root.classList.remove("wb-selection");
    this.details.showNothing();
  }

  /** Shows what is selected in `pane`, and says it. */
  showSelection(pane: Pane | undefined): void {
    const item = pane?.selected ?? null;
    this.tree.select(item);
    if (!pane || item === null) {
      this.showNothing();
      this.say("");
      return;
    }
    this.root.classList.add("wb-selection");
    const { data } = pane;
    const measured = pane.heat !== null && (item < 0 || data.kind(item) === "operator");
    const heat = pane.heat?.of(item)?.text ?? (measured ? "not known" : "");
    const spoken = item < 0 ? `group, ${data.sizes[-item]!} nodes` : data.names[item]!;
    const origin = item < 0 ? "" : MARKS[data.madeBy(item)].label;
    const mark = origin && origin !== MARKS.export.label ? `, ${origin}` : "";
    const state = item < 0 ? (pane.open.has(-item) ? ", open" : ", closed") : "";
    this.say(`${data.label(item)}, ${spoken}${mark}${state}`);
    if (item < 0) this.details.showGroup(data, item, heat);
    else void this.details.showNode(data, item, heat, this.source(data.key));
  }

  /** Fills the outline, if it is open. */
  showTree(pane: Pane | undefined): void {
    if (this.outline.open && pane?.scene) this.tree.show(pane.data, pane.scene.visible, pane.selected);
  }

  say(text: string): void {
    if (this.said.textContent !== text) this.said.textContent = text;
  }

  private source(key: string): DetailsSource {
    return {
      details: (index) => this.kernel.ask({ kind: "details", key, index }, "details"),
      tensor: (name) => this.kernel.ask({ kind: "tensor", key, name }, "summary"),
    };
  }
}
