// The values of a chart as a table: some evenly spaced steps, and each curve's value there.

import { element } from "../../element";
import type { StepName } from "../series/axis";
import type { CurveLook } from "./legend";
import type { SeriesStore } from "../series/series_store";
import { lastAtMost } from "../series/block";

const ROWS = 12;

export interface PointTableOptions {
  title: string;
  curves: CurveLook[];
  stepName: StepName;
  valueAt: (key: string, step: number) => string;
}

/** Replaces the content of `table` by what the store holds now. */
export function fillPointTable(table: HTMLTableElement, store: SeriesStore, options: PointTableOptions): void {
  const { curves, title, stepName } = options;
  const last = store.lastStep;
  const steps = evenSteps(store, curves, last);
  const caption = element("caption", {}, title);
  if (steps.length > 0) caption.append(`, ${steps.length} of ${last.toLocaleString("en")} ${stepName}s`);
  const head = element("tr", {}, element("th", { scope: "col" }, stepName === "step" ? "Step" : "Round"));
  for (const { label } of curves) head.append(element("th", { scope: "col" }, label));
  const body = element("tbody");
  for (const step of steps) {
    const row = element("tr", {}, element("th", { scope: "row" }, step.toLocaleString("en")));
    for (const { key } of curves) row.append(element("td", {}, options.valueAt(key, step)));
    body.append(row);
  }
  table.replaceChildren(caption, element("thead", {}, head), body);
}

/** Up to `ROWS` known steps from the first to the last. */
function evenSteps(store: SeriesStore, curves: CurveLook[], last: number): number[] {
  if (last === 0) return [];
  const blocks = curves
    .flatMap(({ key }) => store.curve(key)?.overview ?? [])
    .sort((a, b) => b.lastStep - a.lastStep)[0];
  if (!blocks) return [];
  const rows = Math.min(ROWS, blocks.length);
  const wanted = Array.from({ length: rows }, (_, row) =>
    rows === 1 ? last : 1 + Math.round((row * (last - 1)) / (rows - 1)),
  );
  const known = wanted.map((step) => blocks.step[Math.max(0, lastAtMost(blocks.step, step))] as number);
  return [...new Set(known)];
}
