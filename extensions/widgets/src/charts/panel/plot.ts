// One uPlot chart in the look of JupyterLab's theme: axes, cursor, and the selection to zoom in. The
// lines are drawn by drawing.ts, since each curve has its own steps.

import uPlot from "uplot";
import { setAttribute } from "../../element";
import type { HorizontalAxis } from "../series/axis";
import { type DrawnLine, drawLines } from "./drawing";
import { formatTick } from "../../number_format";
import { evenTicks, logTicks, type Range } from "./scales";
import type { Theme } from "../../theme";
import { zoomOf } from "../../zoom";

export interface PlotOptions {
  theme: Theme;
  axis: HorizontalAxis;
  logarithmic: boolean;
  /** The lines to draw. */
  lines: () => DrawnLine[];
  /** Called with the place under the pointer, or null when the pointer leaves. */
  onPoint: (x: number | null) => void;
  /** Called with the part of the axis that was selected. */
  onSelect: (range: Range) => void;
}

/** Height of a chart from which on its horizontal axis has a title, in CSS pixels. */
const TITLED = 110;

/** Of a drag that selects, in pixels; a shorter one is a click. */
const LEAST_DRAG = 5;

/** Least room between two ticks of the axis of values, in CSS pixels of a chart. */
const TICK_ROOM = 30;
/** A distance of ticks from which on uPlot counts no digits after the point, and refuses none. */
const PASSED = 5;

/** Whether there is room for the title of the horizontal axis. */
export function hasAxisTitle(into: HTMLElement): boolean {
  return into.clientHeight >= TITLED;
}

export function makePlot(options: PlotOptions, into: HTMLElement): uPlot {
  const { theme, axis, logarithmic } = options;
  const { zoom, textZoom } = theme;
  const look = {
    stroke: theme.text,
    font: theme.font,
    grid: { stroke: theme.grid, width: zoom },
    ticks: { stroke: theme.axis, width: zoom, size: 4 * zoom },
    gap: 5 * zoom,
  };
  /** The last label below the plot. */
  let last = "";
  const plot = new uPlot(
    {
      ...sizeIn(into),
      padding: [8 * zoom, () => roomBeside(last, theme), 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false, dist: LEAST_DRAG },
        points: { show: false },
        bind: {
          // With the shift key a drag pans; a double click shows all.
          mousedown: (_, __, select) => (event) => {
            if (!event.shiftKey && event.button === 0) select(event);
            return null;
          },
          dblclick: () => () => null,
        },
      },
      scales: {
        x: { time: false, auto: false, min: 0, max: 1 },
        y: { distr: logarithmic ? 3 : 1, auto: false, min: 0.1, max: 1 },
      },
      axes: [
        {
          ...look,
          ...(hasAxisTitle(into) ? { label: axis.label } : {}),
          labelFont: theme.font,
          labelSize: 16 * textZoom,
          labelGap: 0,
          size: 28 * textZoom,
          space: axis.space * textZoom,
          incrs: axis.increments,
          values: (_, splits, __, ___, increment) => {
            const texts = splits.map((split) => axis.text(split, increment));
            last = texts.at(-1) ?? "";
            return texts;
          },
        },
        {
          ...look,
          size: (_, values) => labelWidth(values, theme),
          // uPlot's own distances end where a loss that explodes does not: the ticks are chosen here.
          incrs: (_, __, min, max) => [Math.max(PASSED, max - min)],
          splits: (_, __, min, max, distance, space) => {
            const height = (space / distance) * (max - min);
            const most = height / (TICK_ROOM * textZoom);
            return logarithmic ? logTicks(min, max, Math.min(6, most)) : evenTicks(min, max, most);
          },
          filter: (_, splits) => splits,
          values: (_, splits) => (logarithmic ? logTexts(splits) : evenTexts(splits)),
        },
      ],
      series: [{}, { show: true, points: { show: false } }],
      hooks: {
        draw: [(drawn) => drawLines(drawn, options.lines(), theme.error, theme.background)],
        setCursor: [
          (drawn) => {
            // uPlot also calls this when data move beneath a resting cursor; only a pointer counts.
            if (!drawn.over.matches(":hover")) return;
            const { left } = drawn.cursor;
            options.onPoint(left == null || left < 0 ? null : drawn.posToVal(left, "x"));
          },
        ],
        setSelect: [
          (drawn) => {
            const { left, width } = drawn.select;
            if (width >= LEAST_DRAG) {
              options.onSelect([drawn.posToVal(left, "x"), drawn.posToVal(left + width, "x")]);
            }
            drawn.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
      },
    },
    // uPlot needs some data to draw its axes; the curves are not among them.
    [[0, 1], [null, null]],
    into,
  );
  plot.over.addEventListener("mouseleave", () => options.onPoint(null));
  return plot;
}

/** Gives a plot the size of its place, unless that is hidden. */
export function fitPlot(plot: uPlot, into: HTMLElement): void {
  const { width, height } = sizeIn(into);
  if (width === 0 || height === 0) return;
  if (width !== plot.width || height !== plot.height) plot.setSize({ width, height });
}

function sizeIn(into: HTMLElement): { width: number; height: number } {
  const zoom = zoomOf(into);
  return { width: Math.round(into.clientWidth * zoom), height: Math.round(into.clientHeight * zoom) };
}

/** Shows these parts of both axes. */
export function setRanges(plot: uPlot, x: Range, y: Range): void {
  plot.batch(() => {
    plot.setScale("x", { min: x[0], max: x[1] });
    plot.setScale("y", { min: y[0], max: y[1] });
  });
}

/** Puts the cursor of `plot` on `x`, with the text `place` beside it, or takes it away, without
 * calling `onPoint`. */
export function setCursor(plot: uPlot, x: number | null, place: string): void {
  if (x === null && (plot.cursor.left ?? -10) < 0) return;
  const left = x === null ? -10 : plot.valToPos(x, "x");
  const width = plot.over.clientWidth;
  const within = left >= 0 && left <= width;
  const line = plot.over.querySelector(".u-cursor-x");
  if (line && within) {
    setAttribute(line, "data-place", place);
    setAttribute(line, "data-side", left > width / 2 ? "left" : "right");
  }
  plot.setCursor({ left: within ? left : -10, top: within ? plot.over.clientHeight / 2 : -10 }, false);
}

/** Text of a tick on the axis of values. */
export function valueText(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= FAR) return exponential(value);
  return formatTick(Number(value.toPrecision(4)));
}

/** From here on values, of a diverged run, have an exponent: 1e+12 rather than 1T. */
const FAR = 1e9;

function exponential(value: number): string {
  return Number(value.toPrecision(4)).toExponential();
}

/** Texts of ticks; null: a tick without one. Large numbers beside one that has an exponent have one too. */
export function valueTexts(values: (number | null)[]): string[] {
  const far = values.some((value) => value !== null && Math.abs(value) >= FAR);
  return values.map((value) => {
    if (value === null) return "";
    return far && Math.abs(value) >= 1000 ? exponential(value) : valueText(value);
  });
}

/** Texts of the ticks of a logarithmic axis: all with an exponent, or none. */
export function logTexts(values: (number | null)[]): string[] {
  const texts = valueTexts(values);
  if (!texts.some((text) => text.includes("e"))) return texts;
  return values.map((value) => (value === null ? "" : value === 1 ? "1" : exponential(value)));
}

/** A number without a prefix or an exponent, and its digits after the point. */
const PLAIN = /^-?\d+(?:\.(\d+))?$/;

/** Texts of evenly spaced ticks, each with as many digits after the point: 0 · 1.5 · 2.0. */
export function evenTexts(values: number[]): string[] {
  const texts = valueTexts(values);
  const digits = Math.max(0, ...texts.map((text) => PLAIN.exec(text)?.[1]?.length ?? 0));
  return texts.map((text) => (text !== "0" && PLAIN.test(text) ? Number(text).toFixed(digits) : text));
}

/** What measures texts. */
type Context = { font: string; measureText: (text: string) => { width: number } } | null;

const measured = document.createElement("canvas").getContext("2d");

/** In the pixels of `font`. */
function textWidth(text: string, font: string, context: Context = measured): number {
  if (!context) return 0;
  context.font = font;
  return context.measureText(text).width;
}

/** Room beside the plot for the half of the last label below it, in CSS pixels. */
export function roomBeside(text: string, { font, textZoom }: Pick<Theme, "font" | "textZoom">, context: Context = measured): number {
  return Math.max(18 * textZoom, Math.ceil(textWidth(text, font, context) / 2) + textZoom);
}

/** Room for the longest label and its tick, in CSS pixels. */
export function labelWidth(values: string[] | null, { font, textZoom }: Pick<Theme, "font" | "textZoom">, context: Context = measured): number {
  if (!values || !context) return 46 * textZoom;
  const longest = Math.max(0, ...values.map((text) => textWidth(text, font, context)));
  return Math.max(36 * textZoom, Math.ceil(longest) + 14 * textZoom);
}
