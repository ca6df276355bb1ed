// Turns recorded points into the curves that a chart draws: smoothed where a single step says
// little, and thinned to about what a screen can show.

import uPlot from "uplot";
import { lastAtMost, type Metric, type SeriesStore } from "./series_store";

/** Throughput is a mean over this share of all steps: a single step is mostly noise. */
const WINDOW_SHARE = 0.01;
const MIN_WINDOW = 10;
/** Points of one curve beyond which it is thinned; more than the pixels of any chart. */
const MAX_POINTS = 600;

/** Steps and one column of values for each engine, as uPlot takes them; null where one has none. */
export function curves(store: SeriesStore, metric: Metric): uPlot.AlignedData {
  const tables = store.engines.map((engine): uPlot.AlignedData => {
    const { steps, values } = store.points(engine, metric);
    const kept = keptIndices(values, metric === "loss");
    return [
      kept.map((index) => steps[index] as number),
      kept.map((index) => finiteOrNull(shownAt(values, metric, index))),
    ];
  });
  return tables.length > 0 ? uPlot.join(tables) : [[]];
}

/** What a curve shows at the last step at or before `step`; at the very last when it is null. */
export function valueAt(
  store: SeriesStore,
  engine: string,
  metric: Metric,
  step: number | null,
): number | null {
  const { steps, values } = store.points(engine, metric);
  const index = step === null ? steps.length - 1 : lastAtMost(steps, step);
  return index < 0 ? null : finiteOrNull(shownAt(values, metric, index));
}

function shownAt(values: Float32Array, metric: Metric, index: number): number {
  return metric === "throughput" ? rateUpTo(values, index) : (values[index] as number);
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/** Samples over seconds of the last steps together: the harmonic mean of their rates. */
function rateUpTo(values: Float32Array, index: number): number {
  const steps = Math.max(MIN_WINDOW, Math.round(WINDOW_SHARE * values.length));
  let inverse = 0;
  const first = Math.max(0, index + 1 - steps);
  for (let at = first; at <= index; at += 1) inverse += 1 / (values[at] as number);
  return (index + 1 - first) / inverse;
}

/**
 * Indices of at most `MAX_POINTS` points. With `extremes` they are the smallest and the largest of
 * each stretch, so that no spike disappears; otherwise the last.
 */
function keptIndices(values: Float32Array, extremes: boolean): number[] {
  if (values.length <= MAX_POINTS) return Array.from(values.keys());
  const stretch = Math.ceil((extremes ? 2 : 1) * (values.length / MAX_POINTS));
  const kept: number[] = [];
  for (let start = 0; start < values.length; start += stretch) {
    const end = Math.min(start + stretch, values.length);
    if (!extremes) {
      kept.push(end - 1);
      continue;
    }
    let low = start;
    let high = start;
    for (let index = start; index < end; index += 1) {
      if ((values[index] as number) < (values[low] as number)) low = index;
      if ((values[index] as number) > (values[high] as number)) high = index;
    }
    kept.push(...(low === high ? [low] : [Math.min(low, high), Math.max(low, high)]));
  }
  return kept;
}
