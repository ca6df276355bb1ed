// The edges of a selected box: the lines that are drawn already, or, into another group, ones beside the boxes.

import type { Item } from "../data/graph_data";
import type { Point } from "../layout/layout";
import type { Box, Scene } from "./scene";

/** From a box to the turn of its line: less than half of the gap between two ranks. */
const TURN = 10;
/** From the inside of a group's border to a line along it: half of what the group leaves free there. */
const LANE = 7;
/** Between lines along the same border. */
const BESIDE = 3;

/** The lines from all boxes that `selected` reads, and to all that read it; none of an open group. */
export function connectionsOf(scene: Scene, selected: Item): Point[][] {
  const box = scene.box.get(selected);
  if (!box || box.open) return [];
  const from = scene.visible.predecessors(selected).map((item) => [scene.box.get(item)!, box] as const);
  const to = scene.visible.successors(selected).map((item) => [box, scene.box.get(item)!] as const);
  return [...from, ...to].map(([start, end], index) => connection(scene, start, end, index));
}

function connection(scene: Scene, from: Box, to: Box, index: number): Point[] {
  const drawn = scene.lines.find((line) => line.from === from.item && line.to === to.item);
  if (drawn) return drawn.points;
  const start = { x: from.x + from.width / 2, y: from.y + from.height };
  const end = { x: to.x + to.width / 2, y: to.y };
  const crossed = scene.boxes.some((box) => !box.open && box !== from && box !== to && crosses(box, start, end));
  if (!crossed) {
    const bend = Math.max(16, Math.abs(end.y - start.y) / 4);
    return [start, { x: start.x, y: start.y + bend }, { x: end.x, y: end.y - bend }, end];
  }
  const x = lane(scene, from, to, start.x + end.x, (index % 3) * BESIDE);
  const turns = [{ x: start.x, y: start.y + TURN }, { x, y: start.y + TURN }, { x, y: end.y - TURN }, { x: end.x, y: end.y - TURN }];
  return [start, ...turns, end];
}

/** Where a line down the nearer side of the group around both has no box in its way. */
function lane(scene: Scene, from: Box, to: Box, twiceMiddle: number, beside: number): number {
  const [group] = scene.visible.meeting(from.item, to.item);
  const around = group === 0 ? { x: -2 * LANE, width: scene.width + 4 * LANE } : scene.box.get(-group)!;
  const [left, right] = [around.x, around.x + around.width];
  return twiceMiddle < left + right ? left + LANE - beside : right - LANE + beside;
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
