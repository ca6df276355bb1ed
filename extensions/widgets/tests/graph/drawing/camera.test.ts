import { describe, expect, it } from "vitest";
import { Camera } from "../../../src/graph/drawing/camera";

const surface = { width: 500, height: 600 };
const map = { width: 84, height: 168 };

describe("the first view of a graph", () => {
  it("shows all of one that can be read, in the middle", () => {
    const camera = new Camera();
    camera.begin({ width: 400, height: 500 }, surface, 0.55, map);
    expect(camera.scale).toBe(1);
    expect(camera.toSurface({ x: 200, y: 250 })).toEqual({ x: 250, y: 300 });
  });

  it("leaves the corner of the map free where a graph is longer", () => {
    const camera = new Camera();
    for (const width of [300, 480, 600]) {
      camera.begin({ width, height: 9000 }, surface, 0.55, map);
      const left = camera.toSurface({ x: 0, y: 0 }).x;
      const right = camera.toSurface({ x: width, y: 0 }).x;
      expect(left).toBeGreaterThan(0);
      expect(right).toBeLessThan(surface.width - map.width);
    }
  });

  it("moves a graph that fits beside the map there", () => {
    const camera = new Camera();
    camera.x = -90;
    camera.moveBeside({ width: 400, height: 9000 }, surface, map);
    expect(camera.toSurface({ x: 400, y: 0 }).x).toBeCloseTo(surface.width - map.width);
    camera.moveBeside({ width: 490, height: 9000 }, surface, map);
    expect(camera.toSurface({ x: 400, y: 0 }).x).toBeCloseTo(surface.width - map.width);
    camera.moveBeside({ width: 300, height: 9000 }, surface, { width: 0, height: 0 });
    expect(camera.toSurface({ x: 400, y: 0 }).x).toBeCloseTo(surface.width - map.width);
  });

  it("stays in the middle where there is no room beside the map", () => {
    const camera = new Camera();
    camera.begin({ width: 800, height: 9000 }, surface, 0.55, map);
    expect(camera.toSurface({ x: 400, y: 0 }).x).toBeCloseTo(250);
  });
});
