// The horizontal axis: steps, seconds of training, or samples.

import { formatTick, formatWhole } from "../../number_format";
import { type Blocks, lastAtMost } from "./block";

export type AxisName = "step" | "time" | "samples";

export const AXES: Record<AxisName, { label: string; option: string; least: number }> = {
  step: { label: "step", option: "Steps", least: 4 },
  time: { label: "time in training", option: "Time", least: 1e-3 },
  samples: { label: "samples", option: "Samples", least: 4 },
};

/** How a horizontal axis is labelled. */
export interface HorizontalAxis {
  label: string;
  /** Least room between two ticks, in pixels. */
  space: number;
  /** Distances of ticks that are allowed. */
  increments: number[];
  /** Text of a tick; `increment` is the distance of ticks. */
  text: (value: number, increment: number) => string;
}

/** Name of a step: a round in federated training. */
export type StepName = "step" | "round";

/** Over what a mean is, whose points may stand for several steps each: "over about 20 steps". */
export function aboutSteps(steps: number, stepName: StepName): string {
  return `over about ${formatWhole(steps)} ${stepName}s`;
}

export function horizontalAxis(axis: AxisName, stepName: StepName = "step"): HorizontalAxis {
  return {
    label: axis === "step" ? stepName : AXES[axis].label,
    space: axis === "time" ? 60 : 56,
    increments: increments(axis),
    text: (value, increment) => tickText(axis, value, increment),
  };
}

/** Where each block lies on the axis. */
export function positions(blocks: Blocks, axis: AxisName): Float64Array {
  if (axis === "time") return blocks.seconds;
  return axis === "samples" ? blocks.samples : blocks.step;
}

/** Where `step` lies on the axis, between the blocks around it. */
export function positionOf(blocks: Blocks, axis: AxisName, step: number): number {
  if (axis === "step") return step;
  return between(blocks.step, positions(blocks, axis), step);
}

/** The step that lies at `x`. */
export function stepAt(blocks: Blocks, axis: AxisName, x: number): number {
  if (axis === "step") return x;
  return between(positions(blocks, axis), blocks.step, x);
}

/** Linear between known points, from the origin, and at most the last. */
function between(from: Float64Array, to: Float64Array, at: number): number {
  const index = lastAtMost(from, at);
  if (index >= from.length - 1) return to[to.length - 1] ?? 0;
  const [left, right] = [from[index] ?? 0, from[index + 1] as number];
  const [low, high] = [to[index] ?? 0, to[index + 1] as number];
  return right > left ? low + ((high - low) * (at - left)) / (right - left) : high;
}

/** Text of a tick on the axis; `increment` is the distance of ticks. */
export function tickText(axis: AxisName, value: number, increment: number): string {
  if (axis === "time") return formatSeconds(value, increment);
  return increment >= 1000 ? formatTick(value) : formatWhole(value);
}

/** 250 ms · 12.5 s · 2:05 · 1:02:05. */
export function formatSeconds(seconds: number, increment?: number): string {
  if (seconds < 1 && increment === undefined) return `${(1000 * seconds).toPrecision(3)}\u00a0ms`;
  if (seconds < 120) {
    const digits = (increment ?? 0.1) >= 1 ? 0 : Math.min(3, Math.ceil(-Math.log10(increment ?? 0.1)));
    return `${seconds.toFixed(digits)}\u00a0s`;
  }
  const rounded = Math.round(seconds);
  const pad = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes, rest] = [Math.floor(rounded / 3600), Math.floor(rounded / 60) % 60, rounded % 60];
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(rest)}` : `${minutes}:${pad(rest)}`;
}

/** Distances of ticks that are allowed: whole numbers, and for time what clocks have. */
export function increments(axis: AxisName): number[] {
  const powers = Array.from({ length: 13 }, (_, power) => 10 ** power);
  const round = powers.flatMap((power) => [power, 2 * power, 5 * power]);
  if (axis !== "time") return round;
  const clock = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  return [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, ...clock, 172800, 604800];
}
