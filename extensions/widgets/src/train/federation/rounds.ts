// The rounds of a federated run, as the kernel sends them.

/** Of each round, in the order of `COLUMNS` of Python's `chart_series/federation.py`; NaN where unknown. */
const COLUMNS = [
  "round",
  /** Accuracy or loss of the global weights on the test split. */
  "value",
  "loss",
  "trained",
  "leftOut",
  /** Up to this round. */
  "sentBytes",
  "receivedBytes",
  "seconds",
  /** Had each client a device of its own. */
  "simulatedSeconds",
  "epsilon",
] as const;

export type Rounds = Record<(typeof COLUMNS)[number], Float64Array>;

/** The rows of a matrix of float32 with `rows` rows. */
export function matrixRows(values: DataView, rows: number): Float64Array[] {
  const end = values.byteOffset + values.byteLength;
  const all = new Float32Array(values.buffer.slice(values.byteOffset, end) as ArrayBuffer);
  const length = rows ? Math.floor(all.length / rows) : 0;
  return Array.from({ length: rows }, (_, row) =>
    Float64Array.from(all.subarray(row * length, (row + 1) * length)),
  );
}

export function decodeRounds(values: DataView): Rounds {
  const rows = matrixRows(values, COLUMNS.length);
  return Object.fromEntries(COLUMNS.map((name, at) => [name, rows[at]])) as Rounds;
}
