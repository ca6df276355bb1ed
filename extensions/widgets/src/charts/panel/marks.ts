// Where something went wrong in a chart: lines, and their texts.

import type uPlot from "uplot";
import type { Line } from "../series/line";
import { typeScaleOf } from "../../zoom";
import { scaleOf, shownIndices, topOf } from "./places";

export interface Mark {
  x: number;
  /** What stands beside it, the longest first: the others where that has no room. */
  texts: string[];
}

/** A line where something went wrong, with a triangle. */
export function drawMark(plot: uPlot, x: number, color: string): void {
  const { ctx, bbox } = plot;
  const scale = scaleOf(plot);
  const left = plot.valToPos(x, "x", true);
  ctx.strokeStyle = ctx.fillStyle = color;
  ctx.lineWidth = 1.5 * scale;
  ctx.setLineDash([3 * scale, 3 * scale]);
  ctx.beginPath();
  ctx.moveTo(left, bbox.top);
  ctx.lineTo(left, bbox.top + bbox.height);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(left - 5 * scale, bbox.top);
  ctx.lineTo(left + 5 * scale, bbox.top);
  ctx.lineTo(left, bbox.top + 8 * scale);
  ctx.fill();
}

/** The texts that have room in the chart, as long ones for all marks as fit; the same one stands there once. */
export function fittingTexts(plot: uPlot, marks: Mark[]): { x: number; text: string }[] {
  const { ctx, bbox } = plot;
  ctx.font = markFont(plot);
  const levels = Math.max(0, ...marks.map(({ texts }) => texts.length));
  const textsOf = (level: number) => marks.map(({ x, texts }) => ({ x, text: texts[Math.min(level, texts.length - 1)] ?? "" }));
  let found = textsOf(0);
  for (let level = 1; level < levels && found.some(({ text }) => ctx.measureText(text).width > bbox.width); level += 1) {
    found = textsOf(level);
  }
  return found.filter(({ text }, index) => found.findIndex((other) => other.text === text) === index);
}

function markFont(plot: uPlot): string {
  return `600 ${11 * scaleOf(plot) * typeScaleOf(plot.root)}px sans-serif`;
}

/** The texts of marks, below each other: at the top, or at the bottom where fewer points of the curves are. */
export function drawMarkTexts(plot: uPlot, marks: { x: number; text: string }[], lines: Line[], color: string, background: string): void {
  if (marks.length === 0) return;
  const { ctx, bbox } = plot;
  const scale = scaleOf(plot);
  ctx.font = markFont(plot);
  const line = 14 * scale * typeScaleOf(plot.root);
  const texts = marks.map(({ x, text }) => {
    const { width } = ctx.measureText(text);
    return { text, width, start: textStart(plot, x, width) };
  });
  const [from, to] = [Math.min(...texts.map(({ start }) => start)), Math.max(...texts.map(({ start, width }) => start + width))];
  const height = line * texts.length + 2 * scale;
  const bottom = bbox.top + bbox.height;
  const crossed = (top: number) => crossings(plot, lines, [from, to], [top, top + height]);
  const top = crossed(bbox.top) > crossed(bottom - height) ? bottom - height : bbox.top;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  ctx.fillStyle = color;
  // Over the curves that cross them.
  ctx.strokeStyle = background;
  ctx.lineWidth = 4 * scale;
  ctx.lineJoin = "round";
  texts.forEach(({ text, start }, index) => {
    const place = [start, top + 2 * scale + line * index] as const;
    ctx.strokeText(text, ...place);
    ctx.fillText(text, ...place);
  });
}

/** Where the text of a mark begins: beside it, as far as there is room in the chart. */
function textStart(plot: uPlot, x: number, width: number): number {
  const { bbox } = plot;
  const scale = scaleOf(plot);
  const left = plot.valToPos(x, "x", true);
  const gap = 8 * scale;
  const beside = left > bbox.left + bbox.width / 2 ? left - gap - width : left + gap;
  return Math.max(bbox.left + 2 * scale, Math.min(beside, bbox.left + bbox.width - width));
}

/** Number of points of the curves within a part of the chart, in pixels. */
function crossings(plot: uPlot, lines: Line[], [left, right]: [number, number], [top, bottom]: [number, number]): number {
  let count = 0;
  for (const line of lines) {
    for (const { x, y } of [line, ...(line.points ? [line.points] : [])]) {
      const [first, last] = shownIndices(plot, x);
      for (let index = first; index <= last; index += 1) {
        const value = y[index] as number;
        const at = plot.valToPos(x[index] as number, "x", true);
        if (!Number.isFinite(value) || at < left || at > right) continue;
        const height = topOf(plot, value);
        if (height >= top && height <= bottom) count += 1;
      }
    }
  }
  return count;
}
