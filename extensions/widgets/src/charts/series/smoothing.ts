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
 * not finite are passed over. Each mean is a sum of its own: a loss that leapt has no part in later ones.
 */
export function smoothed(step: Float64Array, values: Numbers, overSteps: number): Float64Array {
  if (overSteps <= 1) return Float64Array.from(values);
  const found = new Float64Array(values.length).fill(Number.NaN);
  const lengthOf = (index: number): number => (index > 0 ? (step[index] as number) - (step[index - 1] as number) : step.length > 1 ? lengthOf(1) : 1);
  let first = 0;
  for (let index = 0; index < values.length; index += 1) {
    while ((step[first] as number) <= (step[index] as number) - overSteps) first += 1;
    let [total, weight] = [0, 0];
    for (let each = first; each <= index; each += 1) {
      const value = values[each] as number;
      if (!Number.isFinite(value)) continue;
      total += lengthOf(each) * value;
      weight += lengthOf(each);
    }
    if (weight > 0) found[index] = total / weight;
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
