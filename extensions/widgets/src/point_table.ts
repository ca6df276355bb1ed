// The twin of a chart as a table: some steps, evenly spread, and each engine's value there.

import { valueAt } from "./curve";
import { element } from "./element";
import { type Metric, type SeriesStore } from "./series_store";

const ROWS = 12;

export interface PointTableOptions {
  title: string;
  metric: Metric;
  format: (value: number) => string;
}

/** Replaces the content of `table` by what the store holds now. */
export function fillPointTable(
  table: HTMLTableElement,
  store: SeriesStore,
  options: PointTableOptions,
): void {
  const last = store.lastStep;
  const steps = spread(store, last);
  const caption = element("caption", {}, options.title);
  if (steps.length > 0) caption.append(`, ${steps.length} of ${last} steps`);
  const head = element("tr", {}, element("th", { scope: "col" }, "Step"));
  for (const engine of store.engines) head.append(element("th", { scope: "col" }, engine));
  const body = element("tbody");
  for (const step of steps) {
    const row = element("tr", {}, element("th", { scope: "row" }, String(step)));
    for (const engine of store.engines) {
      const { steps: taken } = store.points(engine, options.metric);
      const value = valueAt(store, engine, options.metric, step);
      const reached = (taken[taken.length - 1] ?? 0) >= step;
      row.append(element("td", {}, value === null || !reached ? "–" : options.format(value)));
    }
    body.append(row);
  }
  table.replaceChildren(caption, element("thead", {}, head), body);
}

/** Up to `ROWS` recorded steps from the first to the last. */
function spread(store: SeriesStore, last: number): number[] {
  if (last === 0) return [];
  const rows = Math.min(ROWS, last);
  const wanted = Array.from({ length: rows }, (_, row) =>
    rows === 1 ? last : 1 + Math.round((row * (last - 1)) / (rows - 1)),
  );
  return [...new Set(wanted.map((step) => store.stepAfter(step, 0)))];
}
