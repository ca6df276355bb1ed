// The whole scene, small, with the part that is seen; a click or a drag goes there. It is larger
// while it is pointed at, so that it covers little of the graph otherwise.

import { element } from "../../element";
import type { Camera } from "./camera";
import type { Point, Size } from "../layout/layout";
import type { Palette } from "./marks";
import type { Scene } from "./scene";
import type { GraphData } from "../data/graph_data";

const WIDTH = 132;
const HEIGHT = 150;
/** From the edges of the surface: 8 pixels, its border, and as many free. */
const DISTANCE = 18;
/** Of a surface that has one, in CSS pixels: on a projector there is no room. */
const LEAST_HEIGHT = 260;
/** Its scale while it is not pointed at, as in the style sheet. */
const RESTING = 0.5;

export class Minimap {
  readonly root = element("canvas", { class: "wb-graph-minimap", "aria-hidden": "true" });
  private scene: Scene | null = null;
  private picture: HTMLCanvasElement | null = null;
  private scale = 1;

  constructor(onGo: (center: Point) => void) {
    const go = (event: PointerEvent) => {
      const box = this.root.getBoundingClientRect();
      const scale = (this.scale * box.width) / this.root.offsetWidth;
      onGo({ x: (event.clientX - box.left) / scale, y: (event.clientY - box.top) / scale });
    };
    this.root.addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      this.root.setPointerCapture(event.pointerId);
      go(event);
    });
    this.root.addEventListener("pointermove", (event) => {
      if (this.root.hasPointerCapture(event.pointerId)) go(event);
    });
  }

  /** What it covers of the lower right corner of the surface, its distance from the edges included. */
  get covered(): Size {
    return this.root.hidden ? { width: 0, height: 0 } : this.size;
  }

  /** The same where it is shown. */
  get size(): Size {
    const { width, height } = this.picture ?? { width: 0, height: 0 };
    const ratio = window.devicePixelRatio || 1;
    return { width: (RESTING * width) / ratio + DISTANCE, height: (RESTING * height) / ratio + DISTANCE };
  }

  /** Draws the boxes of a new scene once; moving the view then only copies that picture. */
  show(data: GraphData, scene: Scene, palette: Palette): void {
    this.scene = scene;
    this.scale = Math.min(WIDTH / Math.max(1, scene.width), HEIGHT / Math.max(1, scene.height));
    const ratio = window.devicePixelRatio || 1;
    const picture = document.createElement("canvas");
    picture.width = Math.max(1, Math.ceil(scene.width * this.scale * ratio));
    picture.height = Math.max(1, Math.ceil(scene.height * this.scale * ratio));
    const context = picture.getContext("2d");
    if (!context) return;
    context.scale(this.scale * ratio, this.scale * ratio);
    for (const box of scene.boxes) {
      const made = box.item < 0 ? "export" : data.madeBy(box.item);
      context.fillStyle = box.open ? palette.raised : made === "export" ? palette.strong : palette.stroke[made];
      context.fillRect(box.x, box.y, box.width, Math.max(box.height, 1 / this.scale));
    }
    this.picture = picture;
    this.root.width = picture.width;
    this.root.height = picture.height;
    this.root.style.width = `${picture.width / ratio}px`;
    this.root.style.height = `${picture.height / ratio}px`;
  }

  draw(camera: Camera, surface: Size, palette: Palette): void {
    const context = this.root.getContext("2d");
    if (!context || !this.scene || !this.picture) return;
    const ratio = (window.devicePixelRatio || 1) * this.scale;
    const [width, height] = [surface.width / camera.scale, surface.height / camera.scale];
    const all = width >= this.scene.width && height >= this.scene.height;
    this.root.hidden = all || surface.height < LEAST_HEIGHT;
    if (this.root.hidden) return;
    context.clearRect(0, 0, this.root.width, this.root.height);
    context.drawImage(this.picture, 0, 0);
    context.strokeStyle = palette.accent;
    context.lineWidth = 2;
    context.strokeRect(camera.x * ratio, camera.y * ratio, width * ratio, height * ratio);
  }
}
