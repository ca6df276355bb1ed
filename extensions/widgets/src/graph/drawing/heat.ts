// Time and memory by node after a profile, and their sums by group.

import { formatBytes, formatSignificant } from "../../number_format";
import type { GraphData, Item } from "../data/graph_data";

export interface Painted {
  engine: string;
  /** Microseconds of a step for each node; NaN where the profile does not name it. */
  times: Float32Array;
  /** Bytes of the node's results; NaN where they are not known. */
  bytes: Float32Array;
}

export type PaintBy = "time" | "memory";

export class Heat {
  private readonly byGroup: Float64Array;
  /** Groups with operators whose results' sizes are not known. */
  private readonly partial: Uint8Array;
  private readonly values: Float32Array;
  readonly hottest: number;
  /** Whether an operator has no value, so that it has no colour. */
  readonly incomplete: boolean;
  /** The value of the darkest colour: of all graphs that are shown together. */
  darkest: number;

  constructor(
    data: GraphData,
    painted: Painted,
    readonly by: PaintBy,
  ) {
    this.values = by === "time" ? painted.times : painted.bytes;
    this.byGroup = new Float64Array(data.groupLabels.length).fill(NaN);
    const add = (group: number, value: number) => {
      this.byGroup[group] = (Number.isNaN(this.byGroup[group]!) ? 0 : this.byGroup[group]!) + value;
    };
    this.values.forEach((value, node) => {
      if (!Number.isNaN(value)) add(data.groupOf[node]!, value);
    });
    const known = (node: number) => data.kind(node) !== "operator" || !Number.isNaN(this.values[node]!);
    this.incomplete = ![...this.values.keys()].every(known);
    this.partial = new Uint8Array(data.groupLabels.length);
    data.groupOf.forEach((group, node) => {
      if (by === "memory" && !known(node)) this.partial[group] = 1;
    });
    for (let group = this.byGroup.length - 1; group > 0; group--) {
      this.partial[data.groupParents[group]!]! |= this.partial[group]!;
      if (!Number.isNaN(this.byGroup[group]!)) add(data.groupParents[group]!, this.byGroup[group]!);
    }
    this.hottest = Math.max(0, ...[...this.values].filter((value) => !Number.isNaN(value)));
    this.darkest = this.hottest;
  }

  /** How hot a box is, by the hottest node, and what to write; null where nothing is known. */
  of(item: Item): { share: number; text: string } | null {
    const value = item < 0 ? this.byGroup[-item]! : this.values[item]!;
    if (Number.isNaN(value)) return null;
    const share = this.darkest > 0 ? Math.min(1, value / this.darkest) : 0;
    return { share, text: `${item < 0 && this.partial[-item] ? "≥\u00a0" : ""}${this.format(value)}` };
  }

  format(value: number): string {
    return this.by === "time" ? formatTime(value) : formatBytes(value);
  }
}

/** Of the colour over a box: text on the hottest is still readable, in light and dark. */
export function heatOpacity(share: number): number {
  return 0.08 + 0.37 * share;
}

/** Microseconds as people read them: 12 µs · 123 µs · 1.20 ms. A profile counts whole ones: of few, two digits. */
export function formatTime(us: number): string {
  if (us >= 1000) return `${formatSignificant(us / 1000)}\u00a0ms`;
  const text = us >= 99.5 ? formatSignificant(us) : us >= 9.95 ? us.toFixed(0) : us.toPrecision(2);
  return `${us === 0 ? 0 : text}\u00a0µs`;
}

/** Decodes a message of the kernel: times of the nodes, then their bytes. */
export function paintedOf(content: Record<string, unknown>, buffers: DataView[]): Painted {
  const [times, bytes] = buffers.map(
    (data) => new Float32Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength)),
  );
  return { engine: String(content["engine"]), times: times!, bytes: bytes! };
}
