// Whether curves coincide: drawn over one another they look like one, and that is worth a word.

import { lastAtMost } from "./block";
import type { Curve } from "./series_store";

/** Share of the range of values below which two curves cannot be told apart. */
const SAME = 0.005;
/** Blocks from which on it is not by chance. */
const LEAST = 10;

/** Those of `curves` that coincide with the first that any other coincides with; none, or at least
 * two. Compared are the losses of the steps from `low` to `high`, as they are drawn. */
export function coinciding<Named extends { curve: Curve }>(
  curves: Named[],
  [low, high]: [number, number],
  logarithmic: boolean,
): Named[] {
  const values = curves.map(({ curve }) => shownValues(curve, low, high, logarithmic));
  for (const [index, first] of curves.entries()) {
    const same = curves.filter((_, other) => other > index && coincide(values[index] as Part, values[other] as Part));
    if (same.length > 0) return [first, ...same];
  }
  return [];
}

interface Part {
  stride: number;
  /** Index of the first block. */
  start: number;
  values: Float64Array;
}

function shownValues({ overview }: Curve, low: number, high: number, logarithmic: boolean): Part {
  const start = lastAtMost(overview.step, low - 1) + 1;
  const part = overview.mean.subarray(start, lastAtMost(overview.step, high) + 1);
  const values = Float64Array.from(part, (value) => (logarithmic ? Math.log10(value) : value));
  return { stride: overview.stride, start: overview.start + start, values };
}

function coincide(one: Part, other: Part): boolean {
  const [a, b] = [one.values, other.values];
  const count = Math.min(a.length, b.length);
  if (count < LEAST) return false;
  if (one.stride !== other.stride || one.start !== other.start) return false;
  let [low, high] = [Infinity, -Infinity];
  for (const value of a.subarray(0, count)) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (high < low) return false; // nothing that could be drawn
  const most = SAME * (high - low);
  for (let index = 0; index < count; index += 1) {
    const [left, right] = [a[index] as number, b[index] as number];
    if (Number.isFinite(left) !== Number.isFinite(right) || Math.abs(left - right) > most) return false;
  }
  return true;
}
