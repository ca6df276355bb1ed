// The edges of a selected box: the lines that are drawn already, or, into another group, ones beside the boxes.

import type { Item } from "../data/graph_data";
import type { Point } from "../layout/layout";
import type { Box, Scene } from "./scene";

/** From a box to the turn of its line: less than half of the gap between two ranks. */
const TURN = 10;
/** From a box to a line beside it, and between two such lines: three of them fit in half of a gap. */
const BESIDE = 4;
const APART = 2;

/** A scene is drawn many times with the same selection. */
const known = new WeakMap<Scene, { selected: Item; lines: Point[][] }>();

/** The lines from all boxes that `selected` reads, and to all that read it; none of an open group. */
export function connectionsOf(scene: Scene, selected: Item): Point[][] {
  let found = known.get(scene);
  if (found?.selected !== selected) known.set(scene, (found = { selected, lines: connections(scene, selected) }));
  return found.lines;
}

function connections(scene: Scene, selected: Item): Point[][] {
  const box = scene.box.get(selected);
  if (!box || box.open) return [];
  const from = scene.visible.predecessors(selected).map((item) => [scene.box.get(item)!, box] as const);
  const to = scene.visible.successors(selected).map((item) => [box, scene.box.get(item)!] as const);
  return [...from, ...to].map(([start, end], index) => connection(scene, start, end, BESIDE + (index % 3) * APART));
}

function connection(scene: Scene, from: Box, to: Box, margin: number): Point[] {
  const drawn = scene.lines.find((line) => line.from === from.item && line.to === to.item);
  if (drawn) return drawn.points;
  const start = { x: from.x + from.width / 2, y: from.y + from.height };
  const end = { x: to.x + to.width / 2, y: to.y };
  const boxes = scene.boxes.filter((box) => !box.open);
  const down = end.y - start.y;
  const isFree = () => !boxes.some((box) => box !== from && box !== to && crosses(box, start, end));
  if (down > 0 && (down < 3 * TURN || isFree())) {
    const bend = Math.max(16, down / 4);
    return [start, { x: start.x, y: start.y + bend }, { x: end.x, y: end.y - bend }, end];
  }
  const [leaves, arrives] = [start.y + TURN, end.y - TURN];
  const x = freePlace(boxes, "x", Math.min(leaves, arrives), Math.max(leaves, arrives), (start.x + end.x) / 2, margin);
  const level = (y: number, at: number) => freePlace(boxes, "y", Math.min(x, at), Math.max(x, at), y, margin);
  const [below, above] = [level(leaves, start.x), level(arrives, end.x)];
  const turn = above > below ? TURN : -TURN;
  // Two points at each turn: between them the line is straight.
  const turns = [below, below + turn, above - turn, above].map((y) => ({ x, y }));
  return [start, { x: start.x, y: below }, ...turns, { x: end.x, y: above }, end];
}

/** Along an axis the place nearest to `wanted` where a line across it, from `low` to `high`, meets no box. */
function freePlace(boxes: readonly Box[], axis: "x" | "y", low: number, high: number, wanted: number, margin: number): number {
  const extent = (box: Box, along: "x" | "y") => [box[along], box[along] + box[along === "x" ? "width" : "height"]] as const;
  const across = axis === "x" ? "y" : "x";
  const blocked = boxes
    .filter((box) => extent(box, across)[0] < high && extent(box, across)[1] > low)
    .map((box) => extent(box, axis))
    .map(([first, last]) => [first - margin, last + margin] as const)
    .sort(([a], [b]) => a - b);
  let [before, after] = [Infinity, -Infinity];
  for (const [first, last] of blocked) {
    if (first < after) after = Math.max(after, last);
    else if (after > wanted) break;
    else [before, after] = [first, last];
  }
  if (before >= wanted || after <= wanted) return wanted;
  return wanted - before < after - wanted ? before : after;
}

/** Whether the straight line from `a` to `b` runs through a box. */
function crosses(box: Box, a: Point, b: Point): boolean {
  let [first, last] = [0, 1];
  for (const [at, by, low, high] of [
    [a.x, b.x - a.x, box.x, box.x + box.width],
    [a.y, b.y - a.y, box.y, box.y + box.height],
  ] as const) {
    if (by === 0 && (at < low || at > high)) return false;
    if (by === 0) continue;
    const ends = [(low - at) / by, (high - at) / by];
    first = Math.max(first, Math.min(...ends));
    last = Math.min(last, Math.max(...ends));
  }
  return first < last;
}
