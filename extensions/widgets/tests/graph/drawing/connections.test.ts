import { describe, expect, it } from "vitest";
import { connectionsOf } from "../../../src/graph/drawing/connections";
import { CanvasPainter } from "../../../src/graph/drawing/painter";
import type { Box, Line, Scene } from "../../../src/graph/drawing/scene";
import type { Point } from "../../../src/graph/layout/layout";

const GAP = 18;

/** An open group above another, each of `rows` rows of `columns` boxes, of which every third is taller. */
function scene(rows: number, columns: number, edges: [number, number][], lines: Line[] = []): Scene {
  const each = rows * columns;
  const boxes: Box[] = [];
  const add = (item: number, x: number, y: number, width: number, height: number, open: boolean) =>
    boxes.push({ item, x, y, width, height, open, depth: open ? 0 : 1 });
  const height = 56 + 66 * rows;
  for (const group of [0, 1]) add(-1 - group, 0, group * (height + 26), 28 + columns * (100 + GAP), height, true);
  for (let item = 0; item < 2 * each; item++) {
    const [group, row, column] = [Math.floor(item / each), Math.floor((item % each) / columns), item % columns];
    add(item, 14 + column * (100 + GAP), group * (height + 26) + 42 + row * 66, 100, item % 3 ? 26 : 40, false);
  }
  const visible = {
    predecessors: (item: number) => edges.filter(([, to]) => to === item).map(([from]) => from),
    successors: (item: number) => edges.filter(([from]) => from === item).map(([, to]) => to),
  };
  const box = new Map(boxes.map((each) => [each.item, each]));
  return { boxes, box, lines, width: 28 + columns * (100 + GAP), height: 2 * height + 26, visible: visible as unknown as Scene["visible"] };
}

/** Points on the curve that is drawn. */
function drawn(points: Point[]): Point[] {
  const found: Point[] = [];
  let at = points[0]!;
  const curve = (control: Point, to: Point) => {
    for (let share = 0; share <= 1; share += 0.02) {
      const [a, b, c] = [(1 - share) ** 2, 2 * share * (1 - share), share ** 2];
      found.push({ x: a * at.x + b * control.x + c * to.x, y: a * at.y + b * control.y + c * to.y });
    }
    at = to;
  };
  const context = new Proxy({} as CanvasRenderingContext2D, {
    get: (_, name) => {
      if (name === "quadraticCurveTo") return (x: number, y: number, toX: number, toY: number) => curve({ x, y }, { x: toX, y: toY });
      if (name === "lineTo") return (x: number, y: number) => curve({ x: (at.x + x) / 2, y: (at.y + y) / 2 }, { x, y });
      return () => {};
    },
    set: () => true,
  });
  new CanvasPainter(context, "").line(points, { color: "", width: 1 });
  return found;
}

/** The boxes that a line runs through. */
function crossed({ boxes }: Scene, points: Point[]): number[] {
  const inside = (box: Box) => ({ x, y }: Point) =>
    x > box.x + 0.5 && x < box.x + box.width - 0.5 && y > box.y + 0.5 && y < box.y + box.height - 0.5;
  const curve = drawn(points);
  return boxes.filter((box) => !box.open && curve.some(inside(box))).map(({ item }) => item);
}

describe("the edges of a selected box", () => {
  it.each([
    ["one column", 4, 1],
    ["columns", 3, 4],
    ["many columns", 5, 7],
  ])("go beside the boxes between it and those of another group: %s", (_, rows, columns) => {
    const each = rows * columns;
    const others = Array.from({ length: each }, (__, item) => item);
    const down = scene(rows, columns, others.flatMap((from) => others.map((to): [number, number] => [from, each + to])));
    const up = scene(rows, columns, others.map((to): [number, number] => [each, to]));
    for (const [shown, items] of [[down, others], [up, [each]]] as const) {
      for (const item of items) {
        const lines = connectionsOf(shown, item);
        expect(lines.length).toBe(each);
        for (const line of lines) expect(crossed(shown, line)).toEqual([]);
      }
    }
  });

  it("go straight where nothing is between", () => {
    const [line] = connectionsOf(scene(3, 1, [[2, 3]]), 3);
    expect(line!.map(({ x }) => x)).toEqual([64, 64, 64, 64]);
  });

  it("are the lines of its group", () => {
    const points = [{ x: 1, y: 2 }, { x: 3, y: 4 }];
    expect(connectionsOf(scene(3, 1, [[0, 2]], [{ from: 0, to: 2, points, count: 1 }]), 0)).toEqual([points]);
  });

  it("are not drawn of an open group", () => {
    expect(connectionsOf(scene(3, 1, [[0, 3]]), -1)).toEqual([]);
  });
});
