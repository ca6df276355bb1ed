import { describe, expect, it } from "vitest";
import { connectionsOf } from "../../../src/graph/drawing/connections";
import type { Box, Line, Scene } from "../../../src/graph/drawing/scene";
import type { Point } from "../../../src/graph/layout/layout";

/** Two open groups, 1 and 2, one below the other, with three boxes each in a column. */
function scene(edges: [number, number][], lines: Line[] = []): Scene {
  const made = (item: number, x: number, y: number, width: number, height: number, open = false): Box => ({
    item, x, y, width, height, open, depth: open ? 0 : 1,
  });
  const boxes = [made(-1, 0, 0, 128, 250, true), made(-2, 0, 280, 128, 250, true)];
  for (let item = 0; item < 6; item++) boxes.push(made(item, 14, 42 + 66 * item + (item > 2 ? 82 : 0), 100, 40));
  const visible = {
    predecessors: (item: number) => edges.filter(([, to]) => to === item).map(([from]) => from),
    successors: (item: number) => edges.filter(([from]) => from === item).map(([, to]) => to),
  };
  const box = new Map(boxes.map((each) => [each.item, each]));
  return { boxes, box, lines, width: 128, height: 530, visible: visible as unknown as Scene["visible"] };
}

/** How many closed boxes a line runs through, besides those at its ends. */
function crossed({ boxes }: Scene, points: Point[], ends: number[]): number {
  let count = 0;
  for (const box of boxes.filter(({ open, item }) => !open && !ends.includes(item))) {
    for (let index = 1; index < points.length; index++) {
      const [a, b] = [points[index - 1]!, points[index]!];
      for (let share = 0; share <= 1; share += 0.02) {
        const [x, y] = [a.x + share * (b.x - a.x), a.y + share * (b.y - a.y)];
        if (x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height) {
          count += 1;
          break;
        }
      }
    }
  }
  return count;
}

describe("the edges of a selected box", () => {
  it("go beside the boxes between it and those of another group", () => {
    const shown = scene([[0, 3], [0, 5], [1, 4]]);
    for (const selected of [0, 1, 5]) {
      const lines = connectionsOf(shown, selected);
      expect(lines.length).toBe(selected === 0 ? 2 : 1);
      lines.forEach((line) => expect(crossed(shown, line, [0, 1, 3, 4, 5].filter((item) => touches(shown, line, item)))).toBe(0));
    }
  });

  it("go straight where nothing is between", () => {
    const [line] = connectionsOf(scene([[2, 3]]), 3);
    expect(line!.map(({ x }) => x)).toEqual([64, 64, 64, 64]);
  });

  it("are the lines of its group", () => {
    const points = [{ x: 1, y: 2 }, { x: 3, y: 4 }];
    expect(connectionsOf(scene([[0, 2]], [{ from: 0, to: 2, points, count: 1 }]), 0)).toEqual([points]);
  });

  it("are not drawn of an open group", () => {
    expect(connectionsOf(scene([[0, 3]]), -1)).toEqual([]);
  });
});

/** Whether a line begins or ends at a box. */
function touches({ box }: Scene, points: Point[], item: number): boolean {
  const { x, y, width, height } = box.get(item)!;
  const at = ({ x: px, y: py }: Point) => px >= x && px <= x + width && (py === y || py === y + height);
  return at(points[0]!) || at(points[points.length - 1]!);
}
