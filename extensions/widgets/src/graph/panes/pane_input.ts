// The pointer and the keyboard on one graph.

import type { Item } from "../data/graph_data";
import type { Pane } from "./pane";
import { type Box, GROUP_HEAD } from "../drawing/scene";
import { type Direction, step } from "./walk";

const ARROWS: Record<string, Direction> = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};
/** Pixels that a press may move and still be a click. */
const CLICK = 4;

/** Description of the keys, in a sentence. */
export const KEYS =
  "Arrow keys move along edges, Home and End to the first and the last, Enter opens and closes a group, / searches, " +
  "Escape goes outwards, + and − zoom, 0 fits; drag to move, turn the wheel in a graph that was clicked, or with Ctrl, to zoom.";

export interface PaneInputListener {
  onSelect: (item: Item | null) => void;
  onSearch: () => void;
}

/** Lets a pane be dragged, zoomed, clicked and walked. */
export class PaneInput {
  constructor(
    private readonly pane: Pane,
    private readonly listener: PaneInputListener,
  ) {
    this.listen();
  }

  private listen(): void {
    const { surface } = this.pane;
    let pressed: { x: number; y: number; moved: boolean } | null = null;
    surface.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || (event.target as HTMLElement).closest("button")) return;
      pressed = { x: event.clientX, y: event.clientY, moved: false };
      surface.setPointerCapture(event.pointerId);
      surface.focus({ preventScroll: true });
    });
    surface.addEventListener("pointermove", (event) => {
      if (!pressed) return;
      const [dx, dy] = [event.clientX - pressed.x, event.clientY - pressed.y];
      if (!pressed.moved && Math.hypot(dx, dy) < CLICK) return;
      pressed = { x: event.clientX, y: event.clientY, moved: true };
      surface.classList.add("wb-dragging");
      this.pane.pan(dx, dy);
    });
    surface.addEventListener("pointerup", (event) => {
      surface.classList.remove("wb-dragging");
      if (pressed && !pressed.moved) this.click(event);
      pressed = null;
    });
    surface.addEventListener("dblclick", (event) => {
      const box = this.boxAt(event);
      if (box && box.item < 0) void this.pane.toggle(-box.item);
    });
    surface.addEventListener(
      "wheel",
      (event) => {
        // The page scrolls unless the graph was clicked into.
        if (!event.ctrlKey && !event.metaKey && document.activeElement !== surface) return;
        event.preventDefault();
        const area = surface.getBoundingClientRect();
        const at = { x: event.clientX - area.left, y: event.clientY - area.top };
        this.pane.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0018)), at);
      },
      { passive: false },
    );
    surface.addEventListener("keydown", (event) => this.onKey(event));
  }

  private click(event: MouseEvent): void {
    const box = this.boxAt(event);
    const area = this.pane.surface.getBoundingClientRect();
    if (box && box.item < 0) {
      const corner = this.pane.camera.toSurface(box);
      // The triangle at the left of a group.
      if (event.clientX - area.left - corner.x < 26 * this.pane.camera.scale + 4) {
        void this.pane.toggle(-box.item);
        return;
      }
    }
    this.listener.onSelect(box ? box.item : null);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.target !== this.pane.surface || event.altKey || event.ctrlKey || event.metaKey) return;
    const { scene, selected } = this.pane;
    const arrow = ARROWS[event.key];
    if (arrow && event.shiftKey) {
      const by = 60;
      this.pane.pan(
        arrow === "left" ? by : arrow === "right" ? -by : 0,
        arrow === "up" ? by : arrow === "down" ? -by : 0,
      );
    } else if (arrow) {
      const next = scene && step(scene, selected, arrow);
      if (next !== null) this.listener.onSelect(next);
    } else if (event.key === "Home" || event.key === "End") {
      const items = [...(scene?.box.keys() ?? [])];
      const end = event.key === "Home" ? items[0] : items.at(-1);
      if (end !== undefined) this.listener.onSelect(end);
    } else if (event.key === "Enter" || event.key === " ") {
      if (selected !== null && selected < 0) void this.pane.toggle(-selected);
    } else if (event.key === "Escape") {
      if (this.pane.isBusy) this.pane.cancel();
      else if (selected !== null) this.listener.onSelect(-this.pane.data.around(selected) || null);
      else return;
    } else if (event.key === "/") this.listener.onSearch();
    else if (event.key === "+" || event.key === "=") this.pane.zoom(1.25);
    else if (event.key === "-") this.pane.zoom(0.8);
    else if (event.key === "0" || event.key === "f") this.pane.fit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private boxAt(event: MouseEvent): Box | null {
    const area = this.pane.surface.getBoundingClientRect();
    const { x, y } = this.pane.camera.toScene({ x: event.clientX - area.left, y: event.clientY - area.top });
    let found: Box | null = null;
    for (const box of this.pane.scene?.boxes ?? []) {
      const inside = x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
      // Of an open group the head is the group, and what is below it belongs to what is in it.
      if (inside && (!box.open || y <= box.y + GROUP_HEAD)) found = box;
    }
    return found;
  }
}
