// Asks the kernel for finer blocks of the part that is looked at, one request at a time.

import { stepAt } from "./series/axis";
import type { Curve } from "./series/series_store";
import type { ViewState } from "./panel/view_state";

/** Milliseconds between two requests, so that zooming by the wheel asks a few times a second. */
const PAUSE = 120;
/** Milliseconds after which an answer counts as lost, as when the kernel is gone. */
const PATIENCE = 3000;
/** Blocks within the window below which finer ones are asked for. */
const FEW = 400;

export interface DetailRequest {
  kind: "detail";
  id: string;
  /** First and last step of each curve. */
  ranges: Record<string, [number, number]>;
}

/** The request: curves with too few points in the window, and its range; null: none. */
export function wanted(state: ViewState): DetailRequest["ranges"] | null {
  if (!state.window) return null;
  const ranges: DetailRequest["ranges"] = {};
  const axis = state.context.axis();
  const [low, high] = state.window;
  for (const { key } of state.shown) {
    const curve = state.store.curve(key);
    if (!curve || curve.overview.stride === 1) continue;
    const [from, to] = [stepAt(curve.overview, axis, low), stepAt(curve.overview, axis, high)];
    if (enough(curve, from, to)) continue;
    const room = (to - from) / 2;
    ranges[key] = [Math.max(0, from - room), to + room + 1];
  }
  return Object.keys(ranges).length > 0 ? ranges : null;
}

function enough({ overview, detail }: Curve, from: number, to: number): boolean {
  if ((to - from) / overview.stride >= FEW) return true;
  if (!detail || detail.length === 0) return false;
  const begins = detail.start === 0 || (detail.step[0] as number) <= from;
  // The end of a run in progress moves; a block of the overview later is soon enough.
  const ends = detail.lastStep >= Math.min(to, overview.lastStep - overview.stride);
  return begins && ends && (detail.stride === 1 || (to - from) / detail.stride >= FEW);
}

export class DetailLoader {
  private asked = 0;
  private waiting = "";
  private timer = 0;
  private count = 0;
  private readonly name = Math.random().toString(36).slice(2);

  constructor(
    private readonly state: ViewState,
    private readonly send: (request: DetailRequest) => void,
  ) {}

  /** Called when the window may have changed. */
  look(): void {
    if (this.timer) return;
    const now = performance.now();
    const ready = this.waiting && now - this.asked < PATIENCE ? this.asked + PATIENCE : this.asked + PAUSE;
    if (now < ready) {
      this.timer = window.setTimeout(() => this.again(), Math.min(PAUSE, ready - now));
      return;
    }
    const ranges = wanted(this.state);
    if (!ranges) return;
    this.count += 1;
    this.asked = now;
    this.waiting = `${this.name}-${this.count}`;
    this.send({ kind: "detail", id: this.waiting, ranges });
  }

  /** The answer to the request `id` has come. */
  answered(id: string): void {
    if (id === this.waiting) this.waiting = "";
  }

  destroy(): void {
    window.clearTimeout(this.timer);
  }

  private again(): void {
    this.timer = 0;
    this.look();
  }
}
