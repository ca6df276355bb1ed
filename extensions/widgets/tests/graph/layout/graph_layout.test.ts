import { describe, expect, it } from "vitest";
import { bands, layOut, type LayoutInput, type LayoutResult, type Point, runsOf } from "../../../src/graph/layout/layout";

const always = async () => true;
const boxes = (count: number) => Array.from({ length: count }, () => ({ width: 100, height: 40 }));

/** A chain in which every sixth box reads what came five before it. */
function chain(count: number): LayoutInput {
  const edges: [number, number][] = [];
  for (let index = 1; index < count; index++) {
    edges.push([index - 1, index]);
    if (index % 6 === 0) edges.push([index - 6, index]);
  }
  return { sizes: boxes(count), edges };
}

function overlaps({ places }: LayoutResult, { sizes }: LayoutInput): number {
  let count = 0;
  for (let a = 0; a < places.length; a++) {
    for (let b = 0; b < a; b++) {
      const apart =
        places[a]!.x >= places[b]!.x + sizes[b]!.width ||
        places[b]!.x >= places[a]!.x + sizes[a]!.width ||
        places[a]!.y >= places[b]!.y + sizes[b]!.height ||
        places[b]!.y >= places[a]!.y + sizes[a]!.height;
      count += apart ? 0 : 1;
    }
  }
  return count;
}

describe("the layout of a group", () => {
  it("puts every box below those that it reads, and none on another", async () => {
    for (const count of [2, 40, 400]) {
      const input = chain(count);
      const made = (await layOut(input, always))!;
      for (const [from, to] of input.edges) {
        expect(made.places[to]!.y).toBeGreaterThanOrEqual(made.places[from]!.y + 40);
      }
      expect(overlaps(made, input)).toBe(0);
      expect(Math.max(...made.places.map(({ x }) => x + 100))).toBeLessThanOrEqual(made.width + 0.01);
      expect(Math.max(...made.places.map(({ y }) => y + 40))).toBeLessThanOrEqual(made.height + 0.01);
    }
  });

  it("has a line for each edge, from box to box", async () => {
    const input = chain(20);
    const made = (await layOut(input, always))!;
    expect(made.lines.length).toBe(input.edges.length);
    input.edges.forEach(([from, to], index) => {
      const line = made.lines[index]!;
      expect(line[0]!.y).toBeCloseTo(made.places[from]!.y + 40, 3);
      expect(line[line.length - 1]!.y).toBeCloseTo(made.places[to]!.y, 3);
    });
  });

  it("ends a line on its box, also where a wider one follows that", async () => {
    const sizes = [100, 100, 60, 300, 100, 100].map((width) => ({ width, height: 40 }));
    const input: LayoutInput = { sizes, edges: [[0, 2], [1, 2], [2, 3], [3, 4], [3, 5], [5, 1]] };
    const made = (await layOut(input, always))!;
    input.edges.forEach(([from, to], index) => {
      const line = made.lines[index]!;
      for (const [box, { x, y }] of [[from, line[0]!], [to, line[line.length - 1]!]] as const) {
        const place = made.places[box]!;
        expect(x).toBeGreaterThanOrEqual(place.x);
        expect(x).toBeLessThanOrEqual(place.x + sizes[box]!.width);
        expect(y).toBeGreaterThanOrEqual(place.y);
        expect(y).toBeLessThanOrEqual(place.y + 40.001);
      }
    });
  });

  it("ends a line above its box, however far from the side it comes", async () => {
    const edges = [...Array(20).keys()].map((from): [number, number] => [from, 20]);
    const made = (await layOut({ sizes: boxes(21), edges }, always))!;
    for (const line of made.lines) {
      const [before, end] = line.slice(-2) as [Point, Point];
      expect(end.y).toBe(made.places[20]!.y);
      expect(Math.abs(end.x - before.x)).toBeLessThanOrEqual(end.y - before.y);
    }
  });

  it("takes boxes that follow each other without a fork for one", () => {
    const edges: [number, number][] = [[0, 1], [1, 2], [2, 3], [0, 4], [4, 3]];
    expect(runsOf({ sizes: boxes(6), edges })).toEqual([[0], [1, 2], [3], [4], [5]]);
  });

  it("puts boxes without edges into rows", async () => {
    const input = { sizes: boxes(12), edges: [] };
    const made = (await layOut(input, always))!;
    expect(overlaps(made, input)).toBe(0);
    expect(new Set(made.places.map(({ y }) => y)).size).toBeGreaterThan(1);
  });

  it("lays out a group whose edges go both ways", async () => {
    const input: LayoutInput = { sizes: boxes(3), edges: [[0, 1], [1, 2], [2, 0]] };
    expect(overlaps((await layOut(input, always))!, input)).toBe(0);
  });

  it("gives up between two bands", async () => {
    let asked = 0;
    const made = await layOut(chain(2000), async () => (asked += 1) < 3);
    expect(made).toBeNull();
    expect(asked).toBe(3);
  });

  it("divides a long graph into bands of whole ranks, in order", () => {
    const { edges } = chain(400);
    const found = bands([...Array(400).keys()], edges);
    expect(found.length).toBeGreaterThan(3);
    expect(found.flat().sort((a, b) => a - b)).toEqual([...Array(400).keys()]);
    const band = new Map(found.flatMap((members, index) => members.map((member) => [member, index] as const)));
    for (const [from, to] of edges) expect(band.get(from)!).toBeLessThanOrEqual(band.get(to)!);
  });
});
