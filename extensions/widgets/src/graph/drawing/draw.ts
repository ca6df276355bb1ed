// Draws a scene: open groups, lines, boxes.

import { counted } from "../../number_format";
import type { GraphData, Item, MadeBy } from "../data/graph_data";
import { connectionsOf } from "./connections";
import { heatOpacity } from "./heat";
import { MARKS, type Palette } from "./marks";
import type { Painter } from "./painter";
import { type Box, GROUP_HEAD, type Scene, textsOf } from "./scene";

export interface View {
  /** The visible part of the scene, in its coordinates. */
  left: number;
  top: number;
  right: number;
  bottom: number;
  scale: number;
}

export interface Look {
  palette: Palette;
  selected: Item | null;
  /** Boxes that stand for nodes which belong to what is selected in the other graph. */
  linked: ReadonlySet<Item>;
  /** For boxes with something that was searched for: how much. */
  found: ReadonlyMap<Item, number>;
  /** For each box how hot it is, 0 to 1, and what to write; null where nodes are coloured by origin. */
  heat: ((item: Item) => { share: number; text: string } | null) | null;
}

/** Below this scale texts are too small to be read. */
const SMALLEST_TEXT = 0.38;

export const EVERYTHING: View = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity, scale: 1 };

export function draw(painter: Painter, data: GraphData, scene: Scene, look: Look, view: View): void {
  const seen = (box: Box) =>
    box.x < view.right && box.y < view.bottom && box.x + box.width > view.left && box.y + box.height > view.top;
  const boxes = scene.boxes.filter(seen);
  for (const box of boxes) if (box.open) drawGroup(painter, box, look);
  const { palette } = look;
  const width = view.scale < SMALLEST_TEXT ? 1.6 : 1.1;
  for (const line of scene.lines) {
    const [first, last] = [line.points[0]!, line.points[line.points.length - 1]!];
    const [low, high] = first.y < last.y ? [first.y, last.y] : [last.y, first.y];
    if (high < view.top || low > view.bottom) continue;
    const heavy = Math.min(2, Math.log2(line.count) / 3);
    painter.line(line.points, { color: palette.line, width: width + heavy, arrow: view.scale >= 0.3 });
  }
  const connections = look.selected === null ? [] : connectionsOf(scene, look.selected);
  for (const line of connections) painter.line(line, { color: palette.accent, width: 1.8, arrow: true });
  for (const box of boxes) if (box.open) drawTitle(painter, data, box, look, view);
  for (const box of boxes) if (!box.open) drawBox(painter, data, box, look, view);
}

function drawGroup(painter: Painter, box: Box, look: Look): void {
  const { palette } = look;
  const isSelected = look.selected === box.item;
  painter.box(box.x, box.y, box.width, box.height, {
    fill: palette.raised,
    opacity: 0.55,
    stroke: isSelected ? palette.accent : palette.strong,
    width: isSelected ? 2.5 : 1,
    radius: 8,
  });
}

/** The bar with the name of an open group: lines that cross it pass beneath. */
function drawTitle(painter: Painter, data: GraphData, box: Box, { palette }: Look, view: View): void {
  if (view.scale < 0.2) return;
  painter.box(box.x + 2, box.y + 2, box.width - 4, GROUP_HEAD - 4, { fill: palette.raised, radius: 6 });
  const size = view.scale < SMALLEST_TEXT ? Math.min(26, 10 / view.scale) : 12;
  const label = data.label(box.item);
  painter.text(box.x + 12, box.y + GROUP_HEAD / 2 + 1, "▾", { size, color: palette.muted });
  painter.text(box.x + 28, box.y + GROUP_HEAD / 2 + 1, label, {
    size,
    color: palette.text,
    bold: true,
    widest: box.width - 100,
  });
  if (view.scale < SMALLEST_TEXT) return;
  const count = counted(data.sizes[-box.item]!, "node");
  painter.text(box.x + box.width - 12, box.y + GROUP_HEAD / 2 + 1, count, {
    size: 11,
    color: palette.muted,
    align: "right",
  });
}

function drawBox(painter: Painter, data: GraphData, box: Box, look: Look, view: View): void {
  const { palette } = look;
  const { item } = box;
  const isGroup = item < 0;
  const kind = isGroup ? "operator" : data.kind(item);
  const made = isGroup ? "export" : data.madeBy(item);
  const heat = look.heat?.(item) ?? null;
  const isEnd = kind !== "operator";
  if (isGroup) {
    // A second sheet behind it: there is more in it.
    painter.box(box.x + 3, box.y + 3, box.width, box.height, { fill: palette.surface, stroke: palette.strong });
  }
  painter.box(box.x, box.y, box.width, box.height, {
    fill: isGroup || isEnd ? palette.surface : look.heat ? palette.surface : palette.fill[made],
    stroke: look.heat || isGroup || isEnd ? palette.strong : palette.stroke[made],
    ...(made === "gradient" ? { dash: [5, 2] } : {}),
    radius: isEnd ? 13 : 5,
  });
  if (heat && heat.share > 0) {
    painter.box(box.x, box.y, box.width, box.height, { fill: palette.heat, opacity: heatOpacity(heat.share) });
    painter.box(box.x, box.y + box.height - 4, box.width * heat.share, 4, { fill: palette.heat, radius: 0 });
  }
  const found = look.found.get(item);
  if (found !== undefined) painter.box(box.x - 3, box.y - 3, box.width + 6, box.height + 6, outline(palette.found, 2.5, []));
  if (look.linked.has(item)) {
    painter.box(box.x - 4, box.y - 4, box.width + 8, box.height + 8, outline(palette.accent, 2, [6, 4]));
  }
  if (look.selected === item) {
    painter.box(box.x - 2, box.y - 2, box.width + 4, box.height + 4, outline(palette.accent, 3, []));
  }
  if (view.scale < SMALLEST_TEXT) return;
  drawTexts(painter, data, box, look, heat?.text ?? "");
  const letter = isGroup || look.heat ? "" : MARKS[made].letter;
  if (letter) {
    const [x, y] = [box.x + box.width - 18, box.y + 3];
    painter.box(x, y, 15, 14, { fill: palette.stroke[made], radius: 3 });
    painter.text(x + 7.5, y + 7.5, letter, { size: 10, color: palette.surface, bold: true, align: "center" });
  }
  if (isGroup && !look.heat) drawMarks(painter, data.marksIn(-item), box, palette);
  if (found && isGroup) {
    painter.box(box.x + box.width - 30, box.y - 9, 30, 16, { fill: palette.found, radius: 8 });
    const text = found > 999 ? "999+" : String(found);
    const [x, y] = [box.x + box.width - 15, box.y - 0.5];
    painter.text(x, y, text, { size: 10, color: palette.surface, bold: true, align: "center" });
  }
}

/** The marks of what is in a closed group, at its lower right. */
function drawMarks(painter: Painter, marks: MadeBy[], box: Box, palette: Palette): void {
  let x = box.x + box.width - 14;
  for (const made of marks.reverse()) {
    const y = box.y + box.height - 15;
    painter.box(x, y, 12, 12, { fill: palette.stroke[made], radius: 3 });
    painter.text(x + 6, y + 6.5, MARKS[made].letter, { size: 9, color: palette.surface, bold: true, align: "center" });
    x -= 14;
  }
}

function outline(stroke: string, width: number, dash: number[]) {
  return { stroke, width, dash, radius: 7 };
}

function drawTexts(painter: Painter, data: GraphData, box: Box, { palette }: Look, heat: string): void {
  const { item } = box;
  const isGroup = item < 0;
  const [first, second] = textsOf(data, item);
  const left = box.x + (isGroup ? 26 : 10);
  const widest = box.width - (isGroup ? 34 : 20);
  if (isGroup) painter.text(box.x + 10, box.y + box.height / 2, "▸", { size: 12, color: palette.muted });
  if (!second) {
    const style = { size: 11.5, color: palette.text, align: "center" as const, widest };
    painter.text(box.x + box.width / 2, box.y + box.height / 2 + 0.5, first, style);
    return;
  }
  const narrower = !isGroup && MARKS[data.madeBy(item)].letter ? 14 : 0;
  const middle = box.y + box.height / 2;
  painter.text(left, middle - 8, first, { size: 12, color: palette.text, bold: true, widest: widest - narrower });
  painter.text(left, middle + 8, heat || second, { size: 10.5, color: heat ? palette.text : palette.muted, widest });
}
