// The edges of a selected box: the lines that are drawn already, or, into another group, ones beside the boxes.

import type { Item } from "../data/graph_data";
import type { Point } from "../layout/layout";
import type { Box, Scene } from "./scene";

/** From a box to the turn of its line: less than half of the gap between two ranks. */
const TURN = 10;
/** From a box to a line beside it. */
const BESIDE = 8;
/** Between lines that run beside the same box. */
const APART = 3;

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
  return [...from, ...to].map(([start, end], index) => connection(scene, start, end, (index % 3) * APART));
}

function connection(scene: Scene, from: Box, to: Box, apart: number): Point[] {
  const drawn = scene.lines.find((line) => line.from === from.item && line.to === to.item);
  if (drawn) return drawn.points;
  const start = { x: from.x + from.width / 2, y: from.y + from.height };
  const end = { x: to.x + to.width / 2, y: to.y };
  const crossed = scene.boxes.some((box) => !box.open && box !== from && box !== to && crosses(box, start, end));
  if (!crossed) {
    const bend = Math.max(16, Math.abs(end.y - start.y) / 4);
    return [start, { x: start.x, y: start.y + bend }, { x: end.x, y: end.y - bend }, end];
  }
  const [below, above] = [start.y + TURN, end.y - TURN];
  const x = freeX(scene, Math.min(below, above), Math.max(below, above), (start.x + end.x) / 2, apart);
  const down = above > below ? TURN : -TURN;
  // Two points at each turn: between them the line is straight.
  const turns = [below, below + down, above - down, above].map((y) => ({ x, y }));
  return [start, { x: start.x, y: below }, ...turns, { x: end.x, y: above }, end];
}

/** The x nearest to `wanted` where a line from `low` to `high` has no box in its way. */
function freeX(scene: Scene, low: number, high: number, wanted: number, apart: number): number {
  const margin = BESIDE + apart;
  const blocked = scene.boxes
    .filter((box) => !box.open && box.y < high && box.y + box.height > low)
    .map((box) => [box.x - margin, box.x + box.width + margin] as [number, number])
    .sort(([a], [b]) => a - b);
  let [left, right] = [Infinity, -Infinity];
  for (const [first, last] of blocked) {
    if (first < right) right = Math.max(right, last);
    else if (right > wanted) break;
    else [left, right] = [first, last];
  }
  if (left >= wanted || right <= wanted) return wanted;
  return wanted - left < right - wanted ? left : right;
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
