// Data of every curve from the kernel: coarse blocks of the whole run, and finer ones of the
// part that is looked at. Both are bounded, however long the run.

import { type BlockHeader, Blocks, decode } from "./block";
import type { WarmUp } from "./smoothing";

export interface Incident {
  kind: "not_finite" | "diverged" | "leap";
  step: number;
  text: string;
}

export interface ValueAtStep {
  value: number;
  step: number;
}

/** Data of a curve other than its points. */
export interface Facts {
  steps: number;
  /** Steps over which throughput is averaged. */
  rate_window: number;
  /** What the throughput of later steps leaves out. */
  warm_up: WarmUp;
  /** The smallest loss of a batch. */
  best: ValueAtStep | null;
  /** The smallest loss on the test split. */
  best_evaluation: ValueAtStep | null;
  incidents: Incident[];
  /** Processes that train, if there are several; else 0. */
  ranks: number;
  /** The metric of the evaluations that is shown. */
  metric: { title: string; unit: string } | null;
}

export interface PointsMessage {
  kind: "points";
  /** Counts the resets; points of an older generation belong to a run no longer shown. */
  generation: number;
  /** Counts the messages: a missing number is a lost message. */
  sequence: number;
  /** Whether this is everything, not only what is new. */
  full: boolean;
  /** Three buffers belong to each: its blocks, all its evaluations, and the memory of its processes. */
  parts: (BlockHeader & Facts & { key: string })[];
  /** By panel, how many times the highest curve is the lowest. */
  spreads: Record<string, number>;
}

export interface DetailMessage {
  kind: "detail";
  id: string;
  generation: number;
  parts: (BlockHeader & { key: string })[];
}

export interface Evaluations {
  step: Float32Array;
  loss: Float32Array;
  /** In the unit of the metric. */
  metric: Float32Array;
}

/** Of a run that several processes train. */
export interface RankMemory {
  step: Float32Array;
  /** MB of each process, in the order of their numbers. */
  ranks: Float32Array[];
}

export interface Curve {
  key: string;
  overview: Blocks;
  detail: Blocks | null;
  evaluations: Evaluations;
  rankMemory: RankMemory;
  facts: Facts;
}

/** Of each part of a message. */
const BUFFERS = 3;

export class SeriesStore {
  spreads: Record<string, number> = {};
  private curves = new Map<string, Curve>();
  private generation = -1;
  private sequence = -1;

  /** Takes in one message. Returns false when one before it is missing: then all must be asked for. */
  apply(message: PointsMessage, buffers: DataView[]): boolean {
    if (message.generation < this.generation) return true;
    const next = message.generation === this.generation && message.sequence === this.sequence + 1;
    if (!message.full && !next) {
      // Duplicates are skipped.
      return message.generation === this.generation && message.sequence <= this.sequence;
    }
    if (message.generation > this.generation) this.curves.clear();
    const whole = message.parts.every((part, index) =>
      this.take(part, buffers.slice(BUFFERS * index, BUFFERS * (index + 1)), message.full),
    );
    if (!whole) return false;
    this.generation = message.generation;
    this.sequence = message.sequence;
    this.spreads = message.spreads;
    return true;
  }

  /** Takes in finer blocks; those of a run no longer shown are passed over. */
  applyDetail(message: DetailMessage, buffers: DataView[]): void {
    if (message.generation !== this.generation) return;
    message.parts.forEach((part, index) => {
      const curve = this.curves.get(part.key);
      const buffer = buffers[index];
      if (curve && buffer) curve.detail = decode(part, buffer);
    });
  }

  curve(key: string): Curve | undefined {
    return this.curves.get(key);
  }

  get empty(): boolean {
    return [...this.curves.values()].every(
      ({ overview, evaluations }) => overview.length + evaluations.step.length === 0,
    );
  }

  /** The largest step that any curve has reached. */
  get lastStep(): number {
    return Math.max(0, ...[...this.curves.values()].map(({ overview }) => overview.lastStep));
  }

  private take(part: PointsMessage["parts"][number], buffers: DataView[], full: boolean): boolean {
    const [blockBuffer, evaluationBuffer, rankBuffer] = buffers;
    const blocks = blockBuffer && decode(part, blockBuffer);
    if (!blocks || !evaluationBuffer || !rankBuffer) return false;
    const before = this.curves.get(part.key);
    const overview = full || part.start === 0 ? blocks : before?.overview.joined(blocks);
    if (!overview) return false;
    // Of a run that was cut back, the finer blocks hold what is gone.
    const detail = full ? null : (before?.detail ?? null);
    const [step, loss, metric] = rowsOf(evaluationBuffer, 3) as [Float32Array, Float32Array, Float32Array];
    const evaluations = { step, loss, metric };
    const [at = new Float32Array(), ...ranks] = rowsOf(rankBuffer, part.ranks ? 1 + part.ranks : 0);
    const rankMemory = { step: at, ranks };
    this.curves.set(part.key, { key: part.key, overview, detail, evaluations, rankMemory, facts: part });
    return true;
  }
}

/** The rows of a matrix of float32 with `rows` rows. */
function rowsOf(buffer: DataView, rows: number): Float32Array[] {
  const bytes = buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength);
  const all = new Float32Array(bytes as ArrayBuffer);
  const count = rows ? Math.floor(all.length / rows) : 0;
  return Array.from({ length: rows }, (_, row) => all.subarray(row * count, (row + 1) * count));
}
