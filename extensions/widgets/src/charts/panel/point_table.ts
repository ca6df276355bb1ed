// The values of a chart as a table: some evenly spaced steps, and each curve's value there.

import { element } from "../../element";
import type { StepName } from "../series/axis";
import type { SeriesStore } from "../series/series_store";
import { lastAtMost } from "../series/block";
import { formatWhole } from "../../number_format";
import type { Range } from "./scales";

const ROWS = 12;

/** The values of a curve. */
export interface PointColumn {
  label: string;
  /** The steps of the curve that are known in the shown part, in whatever detail. */
  steps: Float64Array;
  valueAt: (step: number) => string;
}

export interface PointTableOptions {
  title: string;
  columns: PointColumn[];
  stepName: StepName;
  /** First and last step of the part that is zoomed into; null: all are shown. */
  window: Range | null;
}

/** Replaces the content of `table` by what the store holds now. */
export function fillPointTable(table: HTMLTableElement, store: SeriesStore, options: PointTableOptions): void {
  const { columns, title, stepName } = options;
  const window = options.window ?? [1, store.lastStep];
  const first = Math.max(1, Math.ceil(window[0]));
  const last = Math.min(store.lastStep, Math.floor(window[1]));
  const steps = evenSteps(columns.map(({ steps: known }) => known), first, last);
  const caption = element("caption", {}, title);
  const part = options.window ? `, zoomed: ${stepName}s ${formatWhole(first)} to ${formatWhole(last)}` : "";
  if (steps.length > 0) caption.append(`, ${steps.length} of ${formatWhole(store.lastStep)} ${stepName}s${part}`);
  const head = element("tr", {}, element("th", { scope: "col" }, stepName === "step" ? "Step" : "Round"));
  for (const { label } of columns) head.append(element("th", { scope: "col" }, label));
  const body = element("tbody");
  for (const step of steps) {
    const row = element("tr", {}, element("th", { scope: "row" }, step.toLocaleString("en")));
    for (const { valueAt } of columns) row.append(element("td", {}, valueAt(step)));
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
  if (known.length <= ROWS) return [...known];
  const wanted = Array.from({ length: ROWS }, (_, row) => first + Math.round((row * (last - first)) / (ROWS - 1)));
  return [...new Set(wanted.map((step) => known[Math.max(0, lastAtMost(known, step))] as number))];
}
