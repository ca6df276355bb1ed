// What the kernel has sent of every curve: coarse blocks of the whole run, and finer ones of the
// part that is looked at. Both are bounded, however long the run.

import { type BlockHeader, Blocks, decode } from "./block";

export interface Incident {
  kind: "not_finite" | "diverged";
  step: number;
  text: string;
}

export interface ValueAtStep {
  value: number;
  step: number;
}

/** What the kernel says of a curve beside its points. */
export interface Facts {
  steps: number;
  /** Steps over which throughput is averaged. */
  rate_window: number;
  /** The smallest loss of a batch. */
  best: ValueAtStep | null;
  /** The smallest loss on the test split. */
  best_evaluation: ValueAtStep | null;
  incidents: Incident[];
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
  /** Two buffers belong to each: its blocks and all its evaluations. */
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

export interface Curve {
  key: string;
  overview: Blocks;
  detail: Blocks | null;
  evaluations: Evaluations;
  facts: Facts;
}

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
      // What arrived twice is known already.
      return message.generation === this.generation && message.sequence <= this.sequence;
    }
    if (message.generation > this.generation) this.curves.clear();
    const whole = message.parts.every((part, index) =>
      this.take(part, buffers[2 * index], buffers[2 * index + 1], message.full),
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

  private take(
    part: PointsMessage["parts"][number],
    blockBuffer: DataView | undefined,
    evaluationBuffer: DataView | undefined,
    full: boolean,
  ): boolean {
    const blocks = blockBuffer && decode(part, blockBuffer);
    if (!blocks || !evaluationBuffer) return false;
    const before = this.curves.get(part.key);
    const overview = full || part.start === 0 ? blocks : before?.overview.joined(blocks);
    if (!overview) return false;
    // Of a run that was cut back, the finer blocks hold what is gone.
    const detail = full ? null : (before?.detail ?? null);
    const evaluations = decodeEvaluations(evaluationBuffer);
    this.curves.set(part.key, { key: part.key, overview, detail, evaluations, facts: part });
    return true;
  }
}

function decodeEvaluations(buffer: DataView): Evaluations {
  const bytes = buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength);
  const all = new Float32Array(bytes as ArrayBuffer);
  const count = Math.floor(all.length / 3);
  const row = (index: number) => all.subarray(index * count, (index + 1) * count);
  return { step: row(0), loss: row(1), metric: row(2) };
}
