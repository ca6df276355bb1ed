// Messages of points as the kernel sends them.

import type { BlockHeader } from "../../src/charts/series/block";
import type { CurveLook } from "../../src/charts/panel/legend";
import type { ViewContext } from "../../src/charts/panel/view_state";
import { type Facts, type PointsMessage, SeriesStore } from "../../src/charts/series/series_store";

const facts: Facts = {
  steps: 0,
  rate_window: 10,
  warm_up: { steps: 0, seconds: 0, samples: 0 },
  best: null,
  best_evaluation: null,
  incidents: [],
  ranks: 0,
  metric: null,
};

/** A buffer that begins anywhere in what arrived, as the kernel's do. */
export function buffer(numbers: number[]): DataView {
  const columns = new Float32Array(numbers);
  const bytes = new Uint8Array(columns.byteLength + 3);
  bytes.set(new Uint8Array(columns.buffer), 3);
  return new DataView(bytes.buffer, 3);
}

export interface PartOptions extends Partial<Facts> {
  stride?: number;
  /** Evaluations as [step, loss, metric]. */
  evaluations?: [number, number, number][];
  /** Memory of processes as [step, MB, MB]. */
  rankMemory?: [number, number, number][];
  /** Seconds of a step; of each, 32 samples. */
  seconds?: number;
}

export type Part = [PointsMessage["parts"][number], DataView, DataView, DataView];

/** The blocks from `start` on whose losses are given, of a run of one-second steps. */
export function part(key: string, start: number, losses: number[], options: PartOptions = {}): Part {
  const { stride = 1, evaluations = [], rankMemory = [], seconds = 1, ...more } = options;
  const base = start * stride;
  const count = losses.length;
  const header: BlockHeader = { stride, start, count, base: [base, base * seconds, 32 * base] };
  const ends = losses.map((_, index) => (index + 1) * stride);
  const rows = [
    ends,
    ends.map((end) => end * seconds),
    ends.map((end) => 32 * end),
    losses.map((loss) => loss - (stride > 1 ? 1 : 0)),
    losses.map((loss) => loss + (stride > 1 ? 1 : 0)),
    losses,
    losses,
    losses.map(() => 100),
    losses.map((loss) => (Number.isFinite(loss) ? 0 : 1)),
  ];
  const columns = [0, 1, 2].flatMap((row) => evaluations.map((each) => each[row] as number));
  const sizes = [0, 1, 2].flatMap((row) => rankMemory.map((each) => each[row] as number));
  const ranks = rankMemory.length ? 2 : 0;
  return [{ key, ...header, ...facts, ranks, ...more }, buffer(rows.flat()), buffer(columns), buffer(sizes)];
}

let sequence = 0;

export function message(
  parts: Part[],
  more: Partial<PointsMessage> = {},
): [PointsMessage, DataView[]] {
  sequence = more.sequence ?? sequence + 1;
  const header = parts.map(([each]) => each);
  const buffers = parts.flatMap(([, ...each]) => each);
  const whole: PointsMessage = {
    kind: "points", generation: 0, full: false, spreads: {}, parts: header, ...more, sequence,
  };
  return [whole, buffers];
}

/** A store that was sent these parts, all of them whole. */
export function storeOf(...parts: Part[]): SeriesStore {
  const store = new SeriesStore();
  store.apply(...message(parts, { full: true }));
  return store;
}

export function look(key: string, dash: number[] = []): CurveLook {
  return { key, label: key, detail: `model on ${key}`, color: "#c2410c", dark_color: "#fb923c", dash };
}

/** A view of nothing: by steps, all shown. */
export const CONTEXT: ViewContext = {
  curves: () => [],
  totalSteps: () => 1,
  evaluates: () => false,
  hint: () => "",
  rates: () => ({}),
  ratesNote: () => "",
  axis: () => "step",
  stepName: () => "step",
  smoothing: () => 0,
  scaleOf: () => "auto",
  hidden: () => [],
};
