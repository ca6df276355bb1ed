// Whether curves coincide: drawn over one another they look like one, and that is worth a word.

import type { Curve } from "./series_store";

/** Share of the range of values below which two curves cannot be told apart. */
const SAME = 0.005;
/** Blocks from which on it is not by chance. */
const LEAST = 10;

/** Those of `curves` that coincide with the first that any other coincides with; none, or at least two. */
export function coinciding<Named extends { curve: Curve }>(curves: Named[]): Named[] {
  for (const [index, first] of curves.entries()) {
    const same = curves.slice(index + 1).filter(({ curve }) => coincide(first.curve, curve));
    if (same.length > 0) return [first, ...same];
  }
  return [];
}

function coincide(one: Curve, other: Curve): boolean {
  const [a, b] = [one.overview, other.overview];
  const count = Math.min(a.length, b.length);
  if (count < LEAST || 2 * count < Math.max(a.length, b.length) || a.stride !== b.stride) return false;
  if (a.step[0] !== b.step[0]) return false;
  let [low, high] = [Infinity, -Infinity];
  for (const value of a.mean) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const most = SAME * (high - low);
  for (let index = 0; index < count; index += 1) {
    const [left, right] = [a.mean[index] as number, b.mean[index] as number];
    if (Number.isFinite(left) !== Number.isFinite(right) || Math.abs(left - right) > most) return false;
  }
  return true;
}
