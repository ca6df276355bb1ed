// Ranges of axes, their ticks, and what zooming and panning make of a range.

export type Range = [number, number];

/** Curves that differ by more than this are unreadable on a linear axis, as LOG_SPREAD in Python. */
const LOG_SPREAD = 30;

/** Whether an axis is logarithmic: as it is set, or, on "auto", where curves differ much. */
export function isLogarithmic(scale: string, spread: number): boolean {
  return scale === "log" || (scale !== "linear" && spread > LOG_SPREAD);
}

/** Room above 100 % for the line there, without a number beside it. */
const ABOVE_ALL = 0.03;

/** Limits of the axis of values in `unit`, with some room around them; never equal. */
export function valueRange(min: number, max: number, fromZero: boolean, unit = ""): Range {
  if (!(min <= max)) return [0, 1];
  const low = fromZero ? Math.min(0, min) : min;
  // Values that differ in the fourth digit only are not blown up to the height of the chart.
  const margin = Math.max(0.08 * (max - low || Math.abs(max) || 1), 0.002 * Math.max(Math.abs(min), Math.abs(max)));
  const bottom = (fromZero && min >= 0) || (min >= 0 && min < margin) ? 0 : low - margin;
  const top = max + margin;
  return [bottom, unit.startsWith("%") && max <= 100 ? Math.min(top, 100 + ABOVE_ALL * (100 - bottom)) : top];
}

/** Limits of a logarithmic axis around positive values. */
export function logRange(min: number, max: number): Range {
  if (!(min > 0 && min <= max)) return [0.1, 10];
  const room = Math.max(1.08, (max / min) ** 0.05);
  return [min / room, max * room];
}

const NICE = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];

/** The smallest "nice" number that is at least `value`: an axis that grows by it seldom moves. */
export function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return (NICE.find((nice) => nice * power >= value * (1 - 1e-9)) ?? 10) * power;
}

/** Digits of the ticks in a decade, and every how many decades there are some: the densest first. */
const LOG_STEPS: [number[], number][] = [[[1, 2, 5], 1], [[1, 3], 1], ...Array.from({ length: 12 }, (_, at): [number[], number] => [[1], 2 ** at])];

/** Ticks of a logarithmic axis, two at least and about `most`: powers of ten, with others between them where those are few. */
export function logTicks(min: number, max: number, most = 6): number[] {
  let found: number[] = [];
  for (const [digits, every] of LOG_STEPS) {
    const ticks: number[] = [];
    for (let power = every * Math.floor(Math.log10(min) / every); power <= Math.log10(max); power += every) {
      ticks.push(...digits.map((digit) => Number(`${digit}e${power}`)).filter((tick) => tick >= min && tick <= max));
    }
    if (ticks.length < 2) break;
    found = ticks;
    if (ticks.length <= most + 1) break;
  }
  return found.length >= 2 ? found : evenTicks(min, max, Math.min(4, most));
}

const MOST_TICKS = 8;
const STEPS = [1, 2, 2.5, 5, 10];

/** Round numbers that are evenly spaced, as many as `most` distances fit in; for all that a number can be. */
export function evenTicks(min: number, max: number, most: number): number[] {
  const least = (max - min) / most;
  const power = Math.floor(Math.log10(least));
  const digit = STEPS.find((each) => Number(`${each}e${power}`) >= least * (1 - 1e-9)) ?? 10;
  const step = Number(`${digit}e${power}`);
  const [first, last] = [Math.ceil(min / step), Math.floor(max / step)];
  const count = Math.max(0, Math.min(last - first, Math.ceil(most))) + 1;
  // A single number tells no scale.
  if (count < 2 && most < MOST_TICKS) return evenTicks(min, max, 2 * most);
  return Array.from({ length: count }, (_, index) => Number(((first + index) * step).toPrecision(15)) || 0);
}

/** `range` made `factor` times as long around `at`, within `full`; null once it is all of it. */
export function zoomed(range: Range, at: number, factor: number, full: Range, least: number): Range | null {
  const length = Math.max((range[1] - range[0]) * factor, least);
  if (length >= full[1] - full[0]) return null;
  const share = (at - range[0]) / (range[1] - range[0]);
  return within([at - share * length, at + (1 - share) * length], full);
}

/** `range` moved by `distance`, within `full`. */
export function panned(range: Range, distance: number, full: Range): Range {
  return within([range[0] + distance, range[1] + distance], full);
}

function within([low, high]: Range, full: Range): Range {
  if (low < full[0]) return [full[0], full[0] + high - low];
  if (high > full[1]) return [full[1] - (high - low), full[1]];
  return [low, high];
}
