// Smoothing of curves; workbench/chart_series/smoothing.py has the same results.

type Numbers = Float64Array | Float32Array;

/** The steps that the slider offers: off, then about the same factor apart. */
const OFFERED = [0, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];

/** Those of the offered that say something of a run of `steps` steps. */
export function offeredSmoothing(steps: number): number[] {
  return OFFERED.filter((over) => over <= Math.max(20, steps / 5));
}

/**
 * Mean of the last `overSteps` steps up to each point, which stands for the steps since the one before it. Values that are
 * not finite are passed over. Nothing is subtracted from a sum, so that a loss that leapt has no part in later ones: a window
 * is the rest of a part that it leaves, whose sums to its end are known, and what came since. Each point is in two sums.
 */
export function smoothed(step: Float64Array, values: Numbers, overSteps: number): Float64Array {
  if (overSteps <= 1) return Float64Array.from(values);
  const count = values.length;
  const found = new Float64Array(count).fill(Number.NaN);
  const lengths = step.map((at, index) => at - (step[index - 1] ?? 2 * at - (step[1] ?? at + 1)));
  // From a point to the end of the part that the window leaves.
  const [restTotal, restWeight] = [new Float64Array(count + 1), new Float64Array(count + 1)];
  // Since the end of that part.
  let [total, weight] = [0, 0];
  let [first, end] = [0, 0];
  const weightOf = (index: number) => (Number.isFinite(values[index]) ? (lengths[index] as number) : 0);
  const totalOf = (index: number) => weightOf(index) && weightOf(index) * (values[index] as number);
  for (let index = 0; index < count; index += 1) {
    while ((step[first] as number) <= (step[index] as number) - overSteps) first += 1;
    if (first < end) {
      total += totalOf(index);
      weight += weightOf(index);
    } else {
      end = index + 1;
      [total, weight, restTotal[end], restWeight[end]] = [0, 0, 0, 0];
      for (let each = index; each >= first; each -= 1) {
        restTotal[each] = (restTotal[each + 1] as number) + totalOf(each);
        restWeight[each] = (restWeight[each + 1] as number) + weightOf(each);
      }
    }
    const all = (restWeight[first] as number) + weight;
    if (all > 0) found[index] = ((restTotal[first] as number) + total) / all;
  }
  return found;
}

/** The first steps of a run, and their totals, which the throughput of later ones leaves out. */
export interface WarmUp {
  steps: number;
  seconds: number;
  samples: number;
}

/** Samples per second over the last `window` steps up to each point, from totals; after the warm-up without it. */
export function trailingRate(
  step: Float64Array,
  seconds: Float64Array,
  samples: Float64Array,
  window: number,
  before: { seconds: number; samples: number },
  warmUp: WarmUp = { steps: 0, seconds: 0, samples: 0 },
): Float64Array {
  const found = new Float64Array(step.length).fill(Number.NaN);
  let from = -1;
  for (let index = 0; index < step.length; index += 1) {
    const at = step[index] as number;
    while (from + 1 < index && (step[from + 1] as number) <= at - window) from += 1;
    let startSeconds = from < 0 ? before.seconds : (seconds[from] as number);
    let startSamples = from < 0 ? before.samples : (samples[from] as number);
    // The points may be means over many steps, of which none ends with the warm-up.
    if (at > warmUp.steps && startSeconds < warmUp.seconds) {
      ({ seconds: startSeconds, samples: startSamples } = warmUp);
    }
    const elapsed = (seconds[index] as number) - startSeconds;
    if (elapsed > 0) found[index] = ((samples[index] as number) - startSamples) / elapsed;
  }
  return found;
}
