// The shown part of the curves: the same for all charts of a view.

import { type AxisName, AXES, positionOf, positions, stepAt, type StepName } from "../series/axis";
import type { CurveLook } from "./legend";
import { niceAbove, panned, type Range, zoomed } from "./scales";
import type { SeriesStore } from "../series/series_store";

/** State from the kernel other than the points. */
export interface ViewContext {
  curves: () => CurveLook[];
  totalSteps: () => number;
  /** Whether evaluations will follow. */
  evaluates: () => boolean;
  /** Text while there is nothing to show. */
  hint: () => string;
  /** Throughput of each whole run in samples/s; null: it has none. None of runs in progress. */
  rates: () => Record<string, number | null>;
  /** What they are, such as "median of rounds". */
  ratesNote: () => string;
  axis: () => AxisName;
  stepName: () => StepName;
  smoothing: () => number;
  scaleOf: (panel: string) => string;
  hidden: () => string[];
}

export class ViewState {
  /** The part of the axis that is shown; null: all of it. */
  window: Range | null = null;
  /** Where all charts are pointed at; null: nowhere. */
  cursor: number | null = null;
  highlighted: string | null = null;
  /** What `changeAxis` converted last: the window as it was chosen, and what became of it. */
  private converted: { axis: AxisName; chosen: Range; shown: Range } | null = null;

  constructor(
    readonly store: SeriesStore,
    readonly context: ViewContext,
  ) {}

  /** Puts the cursor on `x`, by steps on the nearest one, or where the last curve ends; returns whether it has moved. */
  pointAt(x: number | null): boolean {
    const end = Math.max(0, ...this.shown.map(({ key }) => this.endOf(key))) || Infinity;
    const within = x === null ? null : Math.min(x, end);
    const at = within !== null && this.context.axis() === "step" ? Math.round(within) : within;
    const moved = at !== this.cursor;
    this.cursor = at;
    return moved;
  }

  /** Where a curve ends on the axis. */
  endOf(key: string): number {
    const curve = this.store.curve(key);
    const place = curve && positions(curve.overview, this.context.axis());
    return place?.[place.length - 1] ?? 0;
  }

  /** Whether the throughput of whole runs stands for the curves, which are not pointed at. */
  get showsRates(): boolean {
    return this.cursor === null && Object.keys(this.context.rates()).length > 0;
  }

  /** The curves that are not hidden, with their style. */
  get shown(): CurveLook[] {
    const hidden = this.context.hidden();
    return this.context.curves().filter(({ key }) => !hidden.includes(key));
  }

  /** The same, solid lines first: where curves coincide, both are seen through the dashes. */
  get drawingOrder(): CurveLook[] {
    return [...this.shown].sort((a, b) => Math.min(a.dash.length, 1) - Math.min(b.dash.length, 1));
  }

  /** Whether a curve steps back behind a highlighted one; behind one that is hidden or has no point none does. */
  isFaded(key: string): boolean {
    const isSeen = (look: CurveLook) => look.key === this.highlighted && this.endOf(look.key) > 0;
    return key !== this.highlighted && this.shown.some(isSeen);
  }

  /** All of the axis: up to the last point that is shown, or during a run a little further. */
  get full(): Range {
    const axis = this.context.axis();
    const { shown } = this;
    let last = 0;
    for (const { key } of shown.length > 0 ? shown : this.context.curves()) {
      last = Math.max(last, this.endOf(key));
      if (axis === "step") last = Math.max(last, this.store.curve(key)?.evaluations.step.at(-1) ?? 0);
    }
    if (last === 0) return [0, 1];
    const total = this.context.totalSteps();
    if (this.store.lastStep >= total) return [0, last];
    const further = niceAbove(last);
    return [0, axis === "step" ? Math.min(further, total) : further];
  }

  get range(): Range {
    return this.window ?? this.full;
  }

  /** Where values are read: at the cursor, or at the end of the part that is shown; null: at the ends of the curves. */
  get place(): number | null {
    return this.cursor ?? this.window?.[1] ?? null;
  }

  /** First and last step of the window, of the curves that reach it; null: all of the axis is shown. */
  get windowSteps(): Range | null {
    const { window } = this;
    if (!window) return null;
    const ends = this.shown.flatMap(({ key }) => {
      const blocks = this.store.curve(key)?.overview;
      const reaches = blocks?.step.length && this.endOf(key) >= window[0];
      return reaches ? window.map((end) => stepAt(blocks, this.context.axis(), end)) : [];
    });
    return ends.length > 0 ? [Math.min(...ends), Math.max(...ends)] : null;
  }

  /** How far the window can go: all of the axis, or further if it is there since a curve was hidden. */
  private get limits(): Range {
    const [first, last] = this.full;
    return [first, Math.max(last, this.range[1])];
  }

  /** Show the same steps on the axis that is shown now; `before` is the one of the window. */
  changeAxis(before: AxisName): void {
    if (!this.window) return;
    // Where curves take different times, the same steps of all need more of the axis. From that the window
    // would grow with each change, so all are converted from the one that was chosen.
    const last = this.converted;
    const again = last?.shown.every((end, index) => end === this.window?.[index]);
    const [axis, chosen] = last && again ? [last.axis, last.chosen] : [before, this.window];
    const ends = this.shown.flatMap(({ key }) => this.placesOf(key, axis, chosen));
    if (axis === this.context.axis()) this.window = chosen;
    else if (ends.length > 0) this.select([Math.min(...ends), Math.max(...ends)]);
    else this.window = null;
    this.converted = this.window && { axis, chosen, shown: this.window };
  }

  /** Where a curve's steps at the ends of a window of `axis` lie on the axis that is shown. */
  private placesOf(key: string, axis: AxisName, window: Range): number[] {
    const blocks = this.store.curve(key)?.overview;
    if (!blocks?.step.length) return [];
    return window.map((end) => positionOf(blocks, this.context.axis(), stepAt(blocks, axis, end)));
  }

  zoom(at: number, factor: number): void {
    const { least } = AXES[this.context.axis()];
    this.window = zoomed(this.range, at, factor, this.limits, least);
  }

  pan(distance: number): void {
    if (this.window) this.window = panned(this.window, distance, this.limits);
  }

  select([low, high]: Range): void {
    const { least } = AXES[this.context.axis()];
    const middle = (low + high) / 2;
    const half = Math.max(high - low, least) / 2;
    this.window = [Math.max(0, middle - half), middle + half];
  }
}
