// The recorded runs as the kernel sends them: all at first, then those that have changed.

export interface RunRow {
  id: string;
  /** The display name; empty if the run was not renamed. */
  name: string;
  status: string;
  model: string;
  dataset: string;
  engine: string;
  /** The engine, and how many processes or clients share the work if several do. */
  trainedBy: string;
  /** Learning rate, batch size, length, and what else differs often. */
  settings: string;
  /** Id of the comparison that it is a part of; empty: none. */
  comparison: string;
  /** Why it failed, was interrupted or stopped early, or cannot be read. */
  reason: string;
  /** What is missing of its record, in a sentence; empty: nothing. */
  damage: string;
  /** Seconds since the epoch. Null, here and below: not known. */
  started: number | null;
  durationS: number | null;
  /** Name of a step: "step", or "round" in federated training. */
  stepWord: string;
  steps: number;
  totalSteps: number;
  lastLoss: number | null;
  bestLoss: number | null;
  metricName: string;
  metric: number | null;
  /** Of the last evaluation. */
  testLoss: number | null;
  samplesPerS: number | null;
  /** What other programs used of the cores, where that makes the throughput doubtful; else empty. */
  disturbance: string;
  /** Whether the duration has pauses. */
  wasPaused: boolean;
  /** Whether it is known what other programs used of the cores. */
  loadKnown: boolean;
  /** Whether best loss, throughput and curve are of a sample of the steps. */
  sampled: boolean;
  /** Whether best loss, throughput and curve have been read. */
  complete: boolean;
  tags: string[];
  notes: string;
  /** The loss over the steps; NaN where none was finite. */
  curve: Float32Array;
}

export interface RowMessage {
  kind: "rows";
  /** Whether these are all rows, not only what has changed. */
  full: boolean;
  rows: (Omit<RunRow, "curve"> & { points: number })[];
  removed: string[];
}

/** Said of a run that is part of a comparison. */
export const COMPARED = "in a comparison";

const ACTIVE = new Set(["starting", "running", "paused"]);

/** Whether the worker of a run is alive. */
export function isActive(row: RunRow): boolean {
  return ACTIVE.has(row.status);
}

/** Whether there is something to go on with; a run without a step can only begin again. */
export function isResumable(row: RunRow): boolean {
  return isActive(row) || row.steps > 0;
}

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** The user's name for it; else model, engine and start, as `run_title` of run_title.py. */
export function displayName(row: RunRow): string {
  const start = row.name ? "" : startText(row);
  return start ? `${shortName(row)} · ${start}` : shortName(row);
}

/** The same without the start, for where that stands beside it. */
export function shortName(row: RunRow): string {
  if (row.name) return row.name;
  if (row.started === null || !row.model) return row.id;
  return [row.model, row.trainedBy].filter(Boolean).join(" · ");
}

/** The same without the engine too, unless several processes or clients share its work. */
export function nameWithoutEngine(row: RunRow): string {
  const told = row.name || row.started === null || !row.model || row.trainedBy !== row.engine;
  return told ? shortName(row) : row.model;
}

/** When it was started, as "23 Nov 14:05:12"; empty where that is not known. */
export function startText(row: RunRow): string {
  if (row.started === null || !row.model) return "";
  const started = new Date(1000 * row.started);
  const year = started.getFullYear() === new Date().getFullYear() ? "" : ` ${started.getFullYear()}`;
  return `${day.format(started)}${year} ${clock.format(started)}`;
}

/** The rows by id. */
export class RunStore {
  readonly rows = new Map<string, RunRow>();

  /** Takes in a message; its buffer holds the curves of its rows, one after another. */
  apply(message: RowMessage, curves: Float32Array): void {
    if (message.full) this.rows.clear();
    for (const id of message.removed) this.rows.delete(id);
    let start = 0;
    for (const { points, ...row } of message.rows) {
      this.rows.set(row.id, { ...row, curve: curves.slice(start, start + points) });
      start += points;
    }
  }
}

/** The float32 values of a message's buffer. */
export function floats(buffers: DataView[]): Float32Array {
  const view = buffers[0];
  if (!view) return new Float32Array();
  // A copy: the buffer may begin at an address that no Float32Array can begin at.
  return new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}
