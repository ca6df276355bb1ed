// Where the arrow keys lead: along edges, where none leads on to the next box below or above, and to the side among boxes
// at the same height.

import type { Item } from "../data/graph_data";
import type { Box, Scene } from "../drawing/scene";

export type Direction = "up" | "down" | "left" | "right";

/** The next box in a direction, or null if there is none. */
export function step(scene: Scene, from: Item | null, direction: Direction): Item | null {
  const closed = scene.boxes.filter((box) => !box.open);
  if (from === null) return topmost(closed);
  const box = scene.box.get(from);
  if (!box) return topmost(closed);
  if (box.open) {
    const inside = closed.filter((each) => isInside(each, box));
    if (direction === "down" || direction === "right") return topmost(inside);
  }
  if (direction === "left" || direction === "right") return beside(closed, box, direction);
  const { visible } = scene;
  const linked = direction === "down" ? visible.successors(from) : visible.predecessors(from);
  const boxes = linked.map((item) => scene.box.get(item)!);
  const ahead = boxes.filter((each) => (direction === "down" ? each.y >= box.y : each.y <= box.y));
  if (ahead.length > 0) return closest(ahead, box);
  // An output of the graph has no edge to the group that stands below it.
  return closest(closed.filter((each) => isBeyond(each, box, direction)), box) ?? closest(boxes, box);
}

function topmost(boxes: Box[]): Item | null {
  let found: Box | null = null;
  for (const box of boxes) if (!found || box.y < found.y || (box.y === found.y && box.x < found.x)) found = box;
  return found ? found.item : null;
}

function closest(boxes: Box[], from: Box): Item | null {
  let found: Box | null = null;
  for (const box of boxes) if (!found || distance(box, from) < distance(found, from)) found = box;
  return found ? found.item : null;
}

/** Whether a box is below another one, or above it. */
function isBeyond(box: Box, from: Box, direction: "up" | "down"): boolean {
  return direction === "down" ? box.y >= from.y + from.height : box.y + box.height <= from.y;
}

function distance(box: Box, from: Box): number {
  return Math.abs(box.y - from.y) + 0.5 * Math.abs(middle(box) - middle(from));
}

function beside(boxes: Box[], from: Box, direction: Direction): Item | null {
  const side = boxes.filter((box) => (direction === "right" ? middle(box) > middle(from) : middle(box) < middle(from)));
  const ahead = side.filter((box) => box.y < from.y + from.height && box.y + box.height > from.y);
  if (ahead.length === 0) return closest(side, from);
  let found: Box | null = null;
  for (const box of ahead) {
    if (!found || Math.abs(middle(box) - middle(from)) < Math.abs(middle(found) - middle(from))) found = box;
  }
  return found ? found.item : null;
}

function middle(box: Box): number {
  return box.x + box.width / 2;
}

function isInside(box: Box, group: Box): boolean {
  return (
    box.x >= group.x &&
    box.y >= group.y &&
    box.x + box.width <= group.x + group.width &&
    box.y + box.height <= group.y + group.height
  );
}
