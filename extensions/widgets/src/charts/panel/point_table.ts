// The values of a chart as a table: some evenly spaced steps, and each curve's value there.

import { element } from "../../element";
import type { StepName } from "../series/axis";
import type { CurveLook } from "./legend";
import type { SeriesStore } from "../series/series_store";
import { lastAtMost } from "../series/block";
import { formatWhole } from "../../number_format";
import type { Range } from "./scales";

const ROWS = 12;

export interface PointTableOptions {
  title: string;
  curves: CurveLook[];
  stepName: StepName;
  /** First and last step of the part that is zoomed into; null: all are shown. */
  window: Range | null;
  /** The steps of a curve that are known there, in whatever detail. */
  stepsOf: (key: string) => Float64Array;
  valueAt: (key: string, step: number) => string;
}

/** Replaces the content of `table` by what the store holds now. */
export function fillPointTable(table: HTMLTableElement, store: SeriesStore, options: PointTableOptions): void {
  const { curves, title, stepName } = options;
  const window = options.window ?? [1, store.lastStep];
  const first = Math.max(1, Math.ceil(window[0]));
  const last = Math.min(store.lastStep, Math.floor(window[1]));
  const steps = evenSteps(curves.map(({ key }) => options.stepsOf(key)), first, last);
  const caption = element("caption", {}, title);
  const part = options.window ? `, zoomed: ${stepName}s ${formatWhole(first)} to ${formatWhole(last)}` : "";
  if (steps.length > 0) caption.append(`, ${steps.length} of ${formatWhole(store.lastStep)} ${stepName}s${part}`);
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

/** Up to `ROWS` steps from `first` to `last`, of the curve that knows most of them. */
function evenSteps(curves: Float64Array[], first: number, last: number): number[] {
  let known = new Float64Array(0);
  for (const steps of curves) {
    const within = steps.filter((step) => step >= first && step <= last);
    if (within.length > known.length) known = within;
  }
  const rows = Math.min(ROWS, known.length);
  const wanted = Array.from({ length: rows }, (_, row) =>
    rows === 1 ? last : first + Math.round((row * (last - first)) / (rows - 1)),
  );
  return [...new Set(wanted.map((step) => known[Math.max(0, lastAtMost(known, step))] as number))];
}
