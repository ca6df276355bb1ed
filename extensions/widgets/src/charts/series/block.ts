// Blocks of steps as the kernel sends them, in columns. A block is one step, or as many as `stride`.

/** Rows of a buffer, in the order of workbench/chart_series/blocks.py. */
const ROWS = 9;

export interface BlockHeader {
  /** Steps of a block; the last may be of fewer. */
  stride: number;
  /** Index of the first block. */
  start: number;
  count: number;
  /** Step, seconds and samples that the buffer's are relative to. */
  base: number[];
}

export class Blocks {
  constructor(
    readonly stride: number,
    readonly start: number,
    /** The last step of each block. */
    readonly step: Float64Array,
    /** Seconds of training up to there. */
    readonly seconds: Float64Array,
    /** Samples up to there. */
    readonly samples: Float64Array,
    readonly low: Float32Array,
    readonly high: Float32Array,
    readonly mean: Float32Array,
    /** The loss of the last step. */
    readonly loss: Float32Array,
    /** Resident set in 10^6 bytes. */
    readonly memory: Float32Array,
    /** Steps whose loss is not finite. */
    readonly bad: Float32Array,
    /** Seconds and samples before the first block. */
    readonly before: { seconds: number; samples: number },
  ) {}

  static readonly none = new Blocks(
    1, 0, new Float64Array(), new Float64Array(), new Float64Array(), new Float32Array(),
    new Float32Array(), new Float32Array(), new Float32Array(), new Float32Array(),
    new Float32Array(), { seconds: 0, samples: 0 },
  );

  get length(): number {
    return this.step.length;
  }

  get lastStep(): number {
    return this.step[this.length - 1] ?? 0;
  }

  /** These blocks with `later` in place of all from its start; null where blocks lie between. */
  joined(later: Blocks): Blocks | null {
    if (later.start === this.start) return later;
    const kept = later.start - this.start;
    if (later.stride !== this.stride || kept < 0 || kept > this.length) return null;
    const join = <T extends Float32Array | Float64Array>(a: T, b: T): T => {
      const both = new (a.constructor as new (length: number) => T)(kept + b.length);
      both.set(a.subarray(0, kept));
      both.set(b, kept);
      return both;
    };
    return new Blocks(
      this.stride, this.start, join(this.step, later.step), join(this.seconds, later.seconds),
      join(this.samples, later.samples), join(this.low, later.low), join(this.high, later.high),
      join(this.mean, later.mean), join(this.loss, later.loss), join(this.memory, later.memory),
      join(this.bad, later.bad), this.before,
    );
  }
}

/** The blocks in a buffer; null if it is shorter than its header says. */
export function decode(header: BlockHeader, buffer: DataView): Blocks | null {
  const { count } = header;
  if (buffer.byteLength !== 4 * ROWS * count) return null;
  // The view may begin anywhere in its buffer; a Float32Array must begin at a multiple of four.
  const bytes = buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength);
  const all = new Float32Array(bytes as ArrayBuffer);
  const row = (index: number) => all.subarray(index * count, (index + 1) * count);
  const total = (index: number) => {
    const base = header.base[index] ?? 0;
    return Float64Array.from(row(index), (value) => base + value);
  };
  return new Blocks(
    header.stride, header.start, total(0), total(1), total(2), row(3), row(4), row(5), row(6),
    row(7), row(8), { seconds: header.base[1] ?? 0, samples: header.base[2] ?? 0 },
  );
}

/** Index of the last of the ascending `values` that is at most `value`; -1 when there is none. */
export function lastAtMost(values: Float64Array | Float32Array, value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
