// The points of every engine, as the kernel sends them: in order, in binary, only what is new.

export const METRICS = ["loss", "throughput", "memory"] as const;
export type Metric = (typeof METRICS)[number];

/** What the kernel says about the buffers that come with it, one buffer for each part. */
export interface PointsMessage {
  kind: "points";
  /** Counts the resets; points of an older generation belong to a run no longer shown. */
  generation: number;
  /** Whether the parts are everything since the reset, not only what is new. */
  full: boolean;
  /** Every engine, in the order in which its line is drawn. */
  engines: string[];
  parts: { engine: string; start: number; count: number }[];
}

interface Series {
  length: number;
  steps: Float32Array;
  values: Record<Metric, Float32Array>;
}

const COLUMNS = 1 + METRICS.length;

export class SeriesStore {
  engines: string[] = [];
  private series = new Map<string, Series>();
  private generation = -1;

  /**
   * Takes in one message. Returns false when points before it are missing, as after a lost
   * connection: then the whole must be asked for.
   */
  apply(message: PointsMessage, buffers: DataView[]): boolean {
    if (message.generation < this.generation) return true;
    if (message.generation > this.generation || message.full) {
      if (!message.full) return false;
      this.series.clear();
      this.generation = message.generation;
    }
    this.engines = message.engines;
    let complete = true;
    message.parts.forEach((part, index) => {
      const buffer = buffers[index];
      if (buffer && !this.append(part.engine, part.start, part.count, buffer)) complete = false;
    });
    return complete;
  }

  get empty(): boolean {
    return [...this.series.values()].every((series) => series.length === 0);
  }

  /** The largest step that any engine has reached. */
  get lastStep(): number {
    let last = 0;
    for (const { steps, length } of this.series.values()) last = Math.max(last, steps[length - 1] ?? 0);
    return last;
  }

  points(engine: string, metric: Metric): { steps: Float32Array; values: Float32Array } {
    const series = this.series.get(engine);
    if (!series) return { steps: new Float32Array(), values: new Float32Array() };
    return {
      steps: series.steps.subarray(0, series.length),
      values: series.values[metric].subarray(0, series.length),
    };
  }

  /** The step that lies `count` recorded steps after `step`, of all engines, or the last one. */
  stepAfter(step: number, count: number): number {
    const longest = [...this.series.values()].sort((a, b) => b.length - a.length)[0];
    if (!longest || longest.length === 0) return step;
    const index = lastAtMost(longest.steps.subarray(0, longest.length), step) + count;
    return longest.steps[Math.min(Math.max(index, 0), longest.length - 1)] ?? step;
  }

  private append(engine: string, start: number, count: number, buffer: DataView): boolean {
    const series = this.series.get(engine) ?? emptySeries();
    this.series.set(engine, series);
    if (start > series.length) return false;
    // The view may begin anywhere in its buffer; a Float32Array must begin at a multiple of four.
    const bytes = buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength);
    const columns = new Float32Array(bytes as ArrayBuffer);
    if (columns.length !== COLUMNS * count) return false;
    grow(series, start + count);
    series.steps.set(columns.subarray(0, count), start);
    METRICS.forEach((metric, index) => {
      series.values[metric].set(columns.subarray((index + 1) * count, (index + 2) * count), start);
    });
    series.length = Math.max(series.length, start + count);
    return true;
  }
}

/** Index of the last of the ascending `steps` that is at most `step`; -1 when there is none. */
export function lastAtMost(steps: Float32Array, step: number): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle] as number) <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function emptySeries(): Series {
  const values = Object.fromEntries(METRICS.map((metric) => [metric, new Float32Array()]));
  return { length: 0, steps: new Float32Array(), values: values as Series["values"] };
}

function grow(series: Series, wanted: number): void {
  if (wanted <= series.steps.length) return;
  const capacity = Math.max(wanted, 2 * series.steps.length, 256);
  const grown = (old: Float32Array) => {
    const larger = new Float32Array(capacity);
    larger.set(old);
    return larger;
  };
  series.steps = grown(series.steps);
  for (const metric of METRICS) series.values[metric] = grown(series.values[metric]);
}
