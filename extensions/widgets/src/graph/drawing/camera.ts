// Which part of a scene a surface shows.

import type { Point, Size } from "../layout/layout";

export const LARGEST = 2.5;
export const SMALLEST = 0.02;
const MARGIN = 18;

export class Camera {
  /** The point of the scene in the top left corner. */
  x = 0;
  y = 0;
  scale = 1;

  toScene(point: Point): Point {
    return { x: this.x + point.x / this.scale, y: this.y + point.y / this.scale };
  }

  toSurface(point: Point): Point {
    return { x: (point.x - this.x) * this.scale, y: (point.y - this.y) * this.scale };
  }

  pan(dx: number, dy: number): void {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
  }

  /** Scales by `factor`; the point of the surface keeps what it shows. */
  zoom(factor: number, at: Point): void {
    const before = this.toScene(at);
    this.scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    this.x = before.x - at.x / this.scale;
    this.y = before.y - at.y / this.scale;
  }

  /** Shows all of the scene, but never larger than it is drawn for. */
  fit(scene: Size, surface: Size): void {
    const across = (surface.width - 2 * MARGIN) / Math.max(1, scene.width);
    const down = (surface.height - 2 * MARGIN) / Math.max(1, scene.height);
    this.scale = Math.min(1, Math.max(SMALLEST, Math.min(across, down)));
    this.x = (scene.width - surface.width / this.scale) / 2;
    this.y = (scene.height - surface.height / this.scale) / 2;
  }

  /**
   * Shows the top of the scene, as wide as can be read, beside the map in the lower right corner
   * if there is room; all of it, which needs no map, where that can be read too.
   */
  begin(scene: Size, surface: Size, readable: number, map: Size): void {
    this.fit(scene, surface);
    if (this.scale >= readable) return;
    const needed = scene.width * readable + 2 * MARGIN;
    // A graph that does not fit beside the map is not cut off for it.
    const width = surface.width - (needed > surface.width - map.width ? 0 : map.width);
    const across = (width - 2 * MARGIN) / Math.max(1, scene.width);
    this.scale = Math.max(readable, Math.min(1, across));
    this.x = (scene.width - width / this.scale) / 2;
    this.y = -MARGIN / this.scale;
  }

  /** Moves a scene that is narrow enough to where nothing of it is above or below what covers the lower right corner. */
  moveBeside(scene: Size, surface: Size, covered: Size): void {
    const width = (surface.width - covered.width) / this.scale;
    if (covered.width && scene.width <= width) this.x = Math.min(0, Math.max(this.x, scene.width - width));
  }

  /** Moves as little as shows a box whole, and not under what covers the lower right corner. */
  reveal(box: Point & Size, surface: Size, covered: Size = { width: 0, height: 0 }): void {
    const [width, height] = [surface.width / this.scale, surface.height / this.scale];
    const margin = 2 * MARGIN / this.scale;
    this.x = nearest(this.x, box.x - margin, box.x + box.width + margin, width);
    this.y = nearest(this.y, box.y - margin, box.y + box.height + margin, height);
    const top = this.toSurface(box).y;
    const end = this.toSurface({ x: box.x + box.width, y: box.y + box.height });
    const under = end.y - (surface.height - covered.height);
    if (under > 0 && end.x > surface.width - covered.width) this.pan(0, -Math.min(under, Math.max(0, top)));
  }
}

function nearest(place: number, low: number, high: number, length: number): number {
  if (high - low > length) return low;
  return Math.min(low, Math.max(place, high - length));
}
