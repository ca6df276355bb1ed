// Draws the lines of one chart on its canvas.

import type uPlot from "uplot";
import type { Line } from "../series/line";
import type { LineStyle } from "../../theme";
import { drawMark, drawMarkTexts, fittingTexts, type Mark } from "./marks";
import { scaleOf, shownIndices, topOf } from "./places";

export interface DrawnLine {
  line: Line;
  style: LineStyle;
  /** Whether another curve is pointed at in the legend. */
  faded: boolean;
  /** In CSS pixels; that of a main line where it is left out. */
  width?: number;
  /** Where something went wrong, on the horizontal axis. */
  marks: Mark[];
}

const WIDTH = 1.75;
/** Of the edge of evaluations: what they lie on is still seen through it. */
const EDGE_STRENGTH = 0.55;
const THIN_WIDTH = 0.8;
/** Room beside the plot for the half of a point on its right edge, in CSS pixels. */
const POINT_ROOM = 4;
/** Least distance of the circles of evaluations, in CSS pixels. */
const CIRCLE_SPACE = 14;
/** Of the dot that stands for a single point, in CSS pixels. */
const LONE_RADIUS = 2.5;

export function drawLines(plot: uPlot, lines: DrawnLine[], markColor: string, background: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width + POINT_ROOM * scaleOf(plot), bbox.height);
  ctx.clip();
  ctx.lineJoin = "round";
  for (const each of lines) drawLine(plot, each, background);
  const { min = -Infinity, max = Infinity } = plot.scales["x"] ?? {};
  const shown = ({ x }: DrawnLine["marks"][number]) => x >= min && x <= max;
  const marks = lines.flatMap((each) => each.marks.filter(shown)).sort((a, b) => a.x - b.x);
  for (const { x } of marks) drawMark(plot, x, markColor);
  // The texts last: several marks stand close together where engines fail alike.
  drawMarkTexts(plot, fittingTexts(plot, marks), lines.map(({ line }) => line), markColor, background);
  ctx.restore();
}

function drawLine(plot: uPlot, { line, style, faded, width = WIDTH }: DrawnLine, background: string): void {
  const { ctx } = plot;
  const scale = scaleOf(plot);
  const strength = faded ? 0.18 : 1;
  const [first, last] = shownIndices(plot, line.x);
  ctx.strokeStyle = ctx.fillStyle = style.color;
  if (line.band) {
    ctx.globalAlpha = 0.22 * strength;
    fillBand(plot, line.x, line.band, first, last);
  }
  if (line.raw) {
    ctx.globalAlpha = 0.3 * strength;
    ctx.lineWidth = 1 * scale;
    ctx.setLineDash([]);
    stroke(plot, line.x, line.raw, first, last);
  }
  ctx.globalAlpha = strength;
  ctx.lineWidth = width * scale;
  ctx.setLineDash(style.dash.map((length) => length * scale));
  stroke(plot, line.x, line.y, first, last);
  ctx.lineWidth = THIN_WIDTH * scale;
  for (const { x, y } of line.thin) stroke(plot, x, y, ...shownIndices(plot, x));
  ctx.setLineDash([]);
  if (line.points) {
    // On the loss of training, which has their colour, the evaluations stand out by an edge, and by a line without dashes.
    const edge = line.x.length > 0 ? background : "";
    drawPoints(plot, line.points, style.color, edge, edge ? [] : style.dash.map((length) => length * scale));
  }
  ctx.globalAlpha = 1;
}

function stroke(plot: uPlot, x: Float64Array, y: ArrayLike<number>, first: number, last: number): void {
  const { ctx } = plot;
  const logarithmic = plot.scales["y"]?.distr === 3;
  ctx.beginPath();
  let drawing = false;
  const lone: [number, number][] = [];
  for (let index = first; index <= last; index += 1) {
    const value = y[index] as number;
    // A value that is not finite breaks the line, and is marked.
    if (!Number.isFinite(value) || (logarithmic && value < 0)) {
      drawing = false;
      continue;
    }
    const left = plot.valToPos(x[index] as number, "x", true);
    const top = topOf(plot, value);
    if (drawing) ctx.lineTo(left, top);
    else ctx.moveTo(left, top);
    // A point between two breaks would be invisible as a line of no length.
    if (!drawing && !Number.isFinite(y[index + 1] as number)) lone.push([left, top]);
    drawing = true;
  }
  ctx.stroke();
  for (const [left, top] of lone) {
    ctx.beginPath();
    ctx.arc(left, top, LONE_RADIUS * scaleOf(plot), 0, 2 * Math.PI);
    ctx.fill();
  }
}

function fillBand(plot: uPlot, x: Float64Array, band: NonNullable<Line["band"]>, first: number, last: number): void {
  const { ctx } = plot;
  let start = first;
  while (start <= last) {
    let end = start;
    while (end <= last && Number.isFinite(band.low[end])) end += 1;
    if (end > start) {
      ctx.beginPath();
      for (let index = start; index < end; index += 1) {
        ctx.lineTo(plot.valToPos(x[index] as number, "x", true), topOf(plot, band.high[index] as number));
      }
      for (let index = end - 1; index >= start; index -= 1) {
        ctx.lineTo(plot.valToPos(x[index] as number, "x", true), topOf(plot, band.low[index] as number));
      }
      ctx.fill();
    }
    start = end + 1;
  }
}

/** The evaluations: a thin line with circles, as many as leave it seen, one at its end; both with an edge if that has a colour. */
function drawPoints(plot: uPlot, { x, y }: NonNullable<Line["points"]>, color: string, edge: string, dash: number[]): void {
  const { ctx } = plot;
  const scale = scaleOf(plot);
  const line = (width: number, of: string) => {
    ctx.lineWidth = width * scale;
    ctx.strokeStyle = of;
    stroke(plot, x, y, 0, x.length - 1);
  };
  ctx.setLineDash(dash);
  const { globalAlpha } = ctx;
  ctx.globalAlpha = EDGE_STRENGTH * globalAlpha;
  if (edge) line(3.5, edge);
  ctx.globalAlpha = globalAlpha;
  line(1, color);
  ctx.setLineDash([]);
  ctx.strokeStyle = edge;
  ctx.lineWidth = 3 * scale;
  let after = Infinity; // from the end, which is the value that is told
  for (let index = x.length - 1; index >= 0; index -= 1) {
    const value = y[index] as number;
    const left = plot.valToPos(x[index] as number, "x", true);
    if (!Number.isFinite(value) || after - left < CIRCLE_SPACE * scale) continue;
    after = left;
    ctx.beginPath();
    ctx.arc(left, topOf(plot, value), 3 * scale, 0, 2 * Math.PI);
    if (edge) ctx.stroke();
    ctx.fill();
  }
}
