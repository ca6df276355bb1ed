// The drawing of one curve in one chart: its main line, and the pale line behind it.

import { type AxisName, positionOf, positions, stepAt } from "./axis";
import { type Blocks, lastAtMost } from "./block";
import type { Curve } from "./series_store";
import { smoothed, trailingRate } from "./smoothing";

export const METRICS = ["loss", "throughput", "memory", "metric"] as const;
export type Metric = (typeof METRICS)[number];

type Numbers = Float64Array | Float32Array;

export interface Line {
  x: Float64Array;
  y: Numbers;
  /** The line before it was smoothed. */
  raw: Numbers | null;
  /** The smallest and the largest value of each block, where blocks are of several steps. */
  band: { low: Numbers; high: Numbers } | null;
  /** The evaluations, as points. */
  points: { x: Float64Array; y: Numbers } | null;
  /** Thin lines besides the main one: the memory of each process of several. */
  thin: { x: Float64Array; y: Numbers }[];
}

export interface LineOptions {
  axis: AxisName;
  /** Steps over which to smooth. */
  smoothing: number;
  /** The part of the axis that is shown. */
  window: [number, number];
}

/** The finest blocks that cover what is shown. */
export function shownBlocks(curve: Curve, { axis, window }: Omit<LineOptions, "smoothing">): Blocks {
  const { overview, detail } = curve;
  if (!detail || detail.length === 0 || detail.stride >= overview.stride) return overview;
  const x = positions(detail, axis);
  const first = detail.start === 0 ? -Infinity : (x[0] as number);
  const last = detail.lastStep >= overview.lastStep - overview.stride ? Infinity : (x[x.length - 1] as number);
  return first <= window[0] && window[1] <= last ? detail : overview;
}

const remembered = new WeakMap<Blocks, Map<string, Line>>();

export function lineOf(curve: Curve, metric: Metric, options: LineOptions): Line {
  const blocks = shownBlocks(curve, options);
  const name = [metric, options.axis, options.smoothing, curve.facts.rate_window, curve.facts.warm_up.steps].join();
  const lines = remembered.get(blocks) ?? new Map<string, Line>();
  remembered.set(blocks, lines);
  const known = lines.get(name);
  // Panning and pointing ask for the same line again and again.
  const line = known ?? blockLine(curve, blocks, metric, options);
  lines.set(name, line);
  const thin = metric === "memory" ? rankLines(curve, options.axis) : [];
  return { ...line, points: evaluationPoints(curve, metric, options.axis), thin };
}

function blockLine(curve: Curve, blocks: Blocks, metric: Metric, options: LineOptions): Line {
  const x = positions(blocks, options.axis);
  const { smoothing } = options;
  const line: Line = { x, y: blocks.memory, raw: null, band: null, points: null, thin: [] };
  if (metric === "metric") return { ...line, x: new Float64Array(), y: new Float64Array() };
  if (metric === "throughput") return { ...line, ...rateLine(curve, blocks, smoothing) };
  if (metric === "memory") return line;
  const y = lossLine(curve, blocks, smoothing);
  const single = blocks.stride === 1;
  return {
    ...line,
    y,
    raw: single && smoothing > 0 ? blocks.mean : null,
    band: single ? null : { low: blocks.low, high: blocks.high },
  };
}

function rateLine(curve: Curve, blocks: Blocks, smoothing: number): Pick<Line, "y" | "raw"> {
  const { rate_window: window, warm_up: warmUp } = curve.facts;
  const count = blocksBefore(curve, blocks);
  const { overview } = curve;
  const joined = (name: "step" | "seconds" | "samples") =>
    join(overview[name].subarray(0, count), blocks[name]);
  const [step, seconds, samples] = [joined("step"), joined("seconds"), joined("samples")];
  const over = (steps: number) =>
    trailingRate(step, seconds, samples, steps, overview.before, warmUp).subarray(count);
  return smoothing > window ? { y: over(smoothing), raw: over(window) } : { y: over(window), raw: null };
}

/** The loss, smoothed; in a part of the run the average continues from that of the whole run. */
function lossLine(curve: Curve, blocks: Blocks, smoothing: number): Numbers {
  if (smoothing <= 0) return blocks.mean;
  const count = blocksBefore(curve, blocks);
  const steps = join(curve.overview.step.subarray(0, count), blocks.step);
  const values = join(curve.overview.mean.subarray(0, count), blocks.mean);
  return smoothed(steps, values, smoothing).subarray(count);
}

/** How many blocks of the whole run end before a part of it. */
function blocksBefore(curve: Curve, blocks: Blocks): number {
  if (blocks === curve.overview || blocks.start === 0) return 0;
  return lastAtMost(curve.overview.step, (blocks.step[0] ?? 0) - 1) + 1;
}

function join(first: Numbers, second: Numbers): Float64Array {
  const both = new Float64Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

function evaluationPoints(curve: Curve, metric: Metric, axis: AxisName): Line["points"] {
  if (metric !== "loss" && metric !== "metric") return null;
  const { step } = curve.evaluations;
  if (step.length === 0) return null;
  const x = Float64Array.from(step, (each) => positionOf(curve.overview, axis, each));
  return { x, y: metric === "loss" ? curve.evaluations.loss : curve.evaluations.metric };
}

function rankLines({ overview, rankMemory }: Curve, axis: AxisName): Line["thin"] {
  const x = Float64Array.from(rankMemory.step, (each) => positionOf(overview, axis, each));
  return rankMemory.ranks.map((y) => ({ x, y }));
}

export interface Reading {
  step: number;
  seconds: number;
  /** Value of the line there; NaN where the loss was not finite, null before the first step. */
  value: number | null;
  /** The last evaluation up to there. */
  evaluation: number | null;
}

/** Value of a curve at `x`, or at its end if that is null. */
export function readingAt(curve: Curve, metric: Metric, options: LineOptions, x: number | null): Reading | null {
  const blocks = shownBlocks(curve, options);
  const place = positions(blocks, options.axis);
  const index = x === null ? place.length - 1 : lastAtMost(place, x + 1e-9 * Math.abs(x));
  if (index < 0 && curve.evaluations.step.length === 0) return null;
  const line = lineOf(curve, metric, options);
  const step = blocks.step[index] ?? 0;
  const limit = x === null ? Infinity : stepAt(curve.overview, options.axis, x);
  const at = lastAtMost(curve.evaluations.step, limit);
  const values = metric === "loss" ? curve.evaluations.loss : curve.evaluations.metric;
  // Unsmoothed, the value is that of the step itself, not the mean of its block.
  const own = metric === "loss" && options.smoothing <= 0 ? blocks.loss : line.y;
  // Smoothing leaves out what is not finite.
  const broken = metric === "loss" && Number.isNaN(blocks.loss[index]);
  return {
    step,
    seconds: blocks.seconds[index] ?? 0,
    value: broken ? NaN : (own[index] ?? null),
    evaluation: at < 0 ? null : (values[at] as number),
  };
}
