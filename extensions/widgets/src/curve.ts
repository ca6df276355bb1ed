// Turns recorded points into the curves that a chart draws: smoothed where a single step says
// little, and thinned to about what a screen can show.

import uPlot from "uplot";
import { lastAtMost, type Metric, type SeriesStore } from "./series_store";

/** Steps over which throughput is averaged; a single step is mostly noise. */
export const THROUGHPUT_WINDOW = 10;
/** Points of one curve beyond which it is thinned; more than the pixels of any chart. */
const MAX_POINTS = 3000;

/** What a curve shows at the last step at or before `step`; at the very last when it is null. */
export function valueAt(
  store: SeriesStore,
  engine: string,
  metric: Metric,
  step: number | null,
): number | null {
  const { steps, values } = store.points(engine, metric);
  const index = step === null ? steps.length - 1 : lastAtMost(steps, step);
  if (index < 0) return null;
  const value = metric === "throughput" ? rateUpTo(values, index) : (values[index] as number);
  return Number.isFinite(value) ? value : null;
}

type Points = { steps: Float32Array; values: Float32Array };

/** Steps and one column of values for each engine, as uPlot takes them; null where one has none. */
export function curves(store: SeriesStore, metric: Metric): uPlot.AlignedData {
  const tables = store.engines.map((engine): uPlot.AlignedData => {
    const points = store.points(engine, metric);
    const smooth = metric === "throughput" ? runningRate(points) : points;
    const { steps, values } = thinned(smooth, metric === "loss");
    return [Array.from(steps), Array.from(values, (value) => (Number.isNaN(value) ? null : value))];
  });
  return tables.length > 0 ? uPlot.join(tables) : [[]];
}

function runningRate({ steps, values }: Points): Points {
  return { steps, values: values.map((_, index) => rateUpTo(values, index)) };
}

/** Samples over seconds of the last steps together: the harmonic mean of their rates. */
function rateUpTo(values: Float32Array, index: number): number {
  const window = values.subarray(Math.max(0, index + 1 - THROUGHPUT_WINDOW), index + 1);
  return window.length / window.reduce((sum, rate) => sum + 1 / rate, 0);
}

/**
 * At most `MAX_POINTS` points. With `extremes` the smallest and the largest of each stretch are
 * kept, so that no spike disappears; otherwise its last.
 */
function thinned({ steps, values }: Points, extremes: boolean): Points {
  if (steps.length <= MAX_POINTS) return { steps, values };
  const stretch = Math.ceil((extremes ? 2 : 1) * (steps.length / MAX_POINTS));
  const kept: number[] = [];
  for (let start = 0; start < steps.length; start += stretch) {
    const end = Math.min(start + stretch, steps.length);
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
  return {
    steps: Float32Array.from(kept, (index) => steps[index] as number),
    values: Float32Array.from(kept, (index) => values[index] as number),
  };
}
