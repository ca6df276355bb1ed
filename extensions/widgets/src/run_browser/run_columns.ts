// The columns of the list of runs: what each shows, and which fit a width.

import { element } from "../element";
import { formatLoss, formatSignificant, formatWhole } from "../number_format";
import type { SortKey } from "./run_order";
import { COMPARED, displayName, isActive, nameWithoutEngine, type RunRow, shortName, startText } from "./run_row";
import { sparkline, WIDTH } from "./sparkline";

export interface Column {
  key: SortKey | "curve";
  label: string;
  unit?: string;
  /** Its meaning, in a sentence. */
  description: string;
  /** In CSS pixels at the usual size of text; the first takes what is left. */
  width: number;
  /** Those of a higher rank are left out first where the page is narrow. */
  rank: number;
  /** Text to the left, numbers to the right. */
  text?: boolean;
  /** What a row has in it, where such columns stand beside it. */
  fill: (row: RunRow, beside: ReadonlySet<string>) => (Node | string)[];
}

const METRIC_LABELS: Record<string, string> = {
  accuracy: "accuracy",
  perplexity: "perplexity",
  r2: "R²",
  mean_absolute_error: "mean abs. error",
  test_loss: "test loss",
};

/** 0.8 s · 45 s · 2 min 14 s · 3 h 5 min, as `duration_text` of run_detail.py. */
export function formatDuration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)}\u00a0s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes >= 60) return `${formatWhole(Math.floor(minutes / 60))}\u00a0h ${minutes % 60}\u00a0min`;
  return minutes ? `${minutes}\u00a0min ${whole % 60}\u00a0s` : `${whole}\u00a0s`;
}

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

function known(value: number | null, format: (value: number) => string): string {
  return value === null ? "–" : format(value);
}

/** A value that only a sample of the steps was read for has a sign before it. */
function about(row: RunRow, value: number | null, format: (value: number) => string): string {
  if (!row.complete) return "…";
  return value === null ? "–" : `${row.sampled ? "≈ " : ""}${format(value)}`;
}

export function formatMetric(row: RunRow): string {
  if (row.metric === null) return "–";
  if (row.metricName === "accuracy") return `${(100 * row.metric).toFixed(1)}\u00a0%`;
  return formatSignificant(row.metric);
}

/** Engine and start are left to the columns that have them. */
function fillName(row: RunRow, beside: ReadonlySet<string>): Node[] {
  const full = displayName(row);
  const title = full === row.id ? full : `${full}\nId: ${row.id}`;
  const named = row.name ? "wb-run-name wb-run-named" : "wb-run-name";
  const name = element("span", { class: named, title }, beside.has("engine") ? nameWithoutEngine(row) : shortName(row));
  const under = element("span", { class: "wb-run-under" });
  if (row.status === "unreadable") {
    under.append(element("span", { class: "wb-run-reason", title: row.reason }, shortReason(row)));
    return [name, under];
  }
  const ended = row.reason !== "" && !beside.has("status");
  if (!beside.has("status")) under.append(...fillStatus(row));
  if (ended && !beside.has("steps")) under.append(element("span", {}, `${row.stepWord} ${formatWhole(row.steps)}`));
  if (row.damage) under.append(element("span", { class: "wb-run-reason", title: row.damage }, "record incomplete"));
  const part = row.comparison && COMPARED;
  const start = row.name || beside.has("started") ? "" : startText(row);
  if (start) under.append(element("span", { class: "wb-run-start" }, start));
  const tags = `Tags: ${row.tags.join(", ")}`; // of which those that have no room are left out
  for (const tag of row.tags) under.append(element("span", { class: "wb-tag", title: tags }, tag));
  if (row.reason && beside.has("status")) {
    // There is no line of its own for it beside the columns. One that was interrupted may be set up again.
    const settings = row.status === "interrupted" && row.settings;
    const why = [part, settings, row.reason].filter(Boolean).join(" · ");
    under.append(element("span", { class: "wb-run-reason", title: why }, why));
    return [name, under];
  }
  const by = row.name && !beside.has("engine") && row.trainedBy;
  const facts = [by, row.settings, row.name && row.model, row.dataset, part].filter(Boolean).join(" · ");
  under.append(element("span", { class: "wb-run-facts", title: facts }, facts));
  if (row.notes) under.append(element("span", { class: "wb-run-notes", title: row.notes }, row.notes));
  return ended ? [name, under, element("span", { class: "wb-run-why", title: row.reason }, row.reason)] : [name, under];
}

/** Why a run cannot be read, without what would take all the room: the path of its folder, and its id. */
function shortReason(row: RunRow): string {
  const [folder] = row.reason.match(/\/\S*\//) ?? [""];
  const told = row.reason.replaceAll(folder, "").replace(`Run ${row.id} `, "");
  const whole = told.replace(/^was /, "Was ");
  // What is wrong has no room behind a value of many letters.
  return whole.replace(/\S{33,}/g, (word) => `${word.slice(0, 16)}…${word.slice(-8)}`);
}

function fillStatus(row: RunRow): Node[] {
  const attributes = row.reason ? { class: "wb-run-status", title: row.reason } : { class: "wb-run-status" };
  const status = element("span", attributes, row.status);
  status.dataset["status"] = row.status;
  return [status];
}

function fillThroughput(row: RunRow): (Node | string)[] {
  const text = about(row, row.samplesPerS, formatSignificant);
  if (!row.complete || row.samplesPerS === null || isActive(row)) return [text];
  if (!row.loadKnown) {
    const title = "It is not known whether the machine was quiet while this was measured.";
    return [text, element("small", { title }, "load not known")];
  }
  if (!row.disturbance) return [text];
  const title = `The machine was busy (${row.disturbance}): do not trust this throughput.`;
  return [text, element("small", { class: "wb-run-busy", title }, "machine busy")];
}

function fillSteps(row: RunRow): (Node | string)[] {
  const steps = formatWhole(row.steps);
  const of = isActive(row) && row.steps < row.totalSteps ? `of ${formatWhole(row.totalSteps)}` : "";
  const under = [of, row.stepWord === "step" ? "" : `${row.stepWord}s`].filter(Boolean).join(" ");
  return under ? [steps, element("small", {}, under)] : [steps];
}

/** What another engine of a comparison took, or a pause, is no time of this run. */
function fillDuration(row: RunRow): (Node | string)[] {
  const text = known(row.durationS, formatDuration);
  if (row.durationS === null) return [text];
  const [note, title] = row.comparison ? ["with turns", "The turns of the other engines included."] : ["with pauses", "The time in which it was paused included."];
  return row.comparison || row.wasPaused ? [text, element("small", { title }, note)] : [text];
}

function fillStarted(row: RunRow): (Node | string)[] {
  if (row.started === null) return ["–"];
  const date = new Date(1000 * row.started);
  return [day.format(date), element("small", {}, clock.format(date))];
}

/** Of steps that were taken the last loss is known, unless it is no number. */
function lastLossText(row: RunRow): string {
  const diverged = row.lastLoss === null && row.complete && !row.damage && row.steps > 0 && row.stepWord === "step";
  return diverged ? "not finite" : known(row.lastLoss, formatLoss);
}

function fillLastLoss(row: RunRow, beside: ReadonlySet<string>): (Node | string)[] {
  const tested = row.testLoss === null || beside.has("testLoss") ? [] : [element("small", {}, `test ${formatLoss(row.testLoss)}`)];
  return [lastLossText(row), ...tested];
}

export const COLUMNS: Column[] = [
  { key: "name", label: "Run", description: "Display name, model, dataset, main settings, tags and notes", width: 262, rank: 0, text: true, fill: fillName },
  { key: "status", label: "Status", description: "Status of the run", width: 96, rank: 3, text: true, fill: fillStatus },
  { key: "engine", label: "Engine", description: "The engine that trained", width: 112, rank: 9, text: true, fill: (row) => [row.engine || "–"] },
  { key: "curve", label: "Loss", description: "The loss over the steps, each run on its own scale", width: WIDTH + 16, rank: 1, text: true, fill: (row) => (row.complete ? [sparkline(row.curve)] : [element("span", { class: "wb-hint" }, "…")]) },
  { key: "lastLoss", label: "Last loss", description: "Loss of the last batch, and of the last evaluation of the test split", width: 92, rank: 2, fill: fillLastLoss },
  { key: "bestLoss", label: "Best loss", description: "Lowest loss of a batch; ≈: of a sample of the steps", width: 90, rank: 10, fill: (row) => [about(row, row.bestLoss, formatLoss)] },
  { key: "testLoss", label: "Test loss", description: "Of the last evaluation of the test split", width: 86, rank: 11, fill: (row) => [known(row.testLoss, formatLoss)] },
  { key: "metric", label: "Metric", description: "Of the last evaluation of the test split", width: 96, rank: 4, fill: (row) => [formatMetric(row), ...(row.metric === null ? [] : [element("small", {}, METRIC_LABELS[row.metricName] ?? row.metricName)])] },
  { key: "samplesPerS", label: "Throughput", unit: "samples/s", description: "Median over the run after its warm-up, in twenty parts or the rounds of its comparison; in progress: mean so far; ≈: mean of a sample of the steps", width: 106, rank: 5, fill: fillThroughput },
  { key: "steps", label: "Steps", description: "Optimizer steps taken; of federated training its rounds", width: 92, rank: 8, fill: fillSteps },
  { key: "durationS", label: "Duration", description: "From launch to end; pauses are included, and the turns of the other engines in a comparison", width: 96, rank: 7, fill: fillDuration },
  { key: "started", label: "Started", description: "When the run was first launched", width: 104, rank: 6, fill: fillStarted },
];

/** Of the column by which the rows are sorted: after name and curve. */
const SORTED_RANK = 1.5;
/** Columns whose values stand beside or below the name where they have no room. */
const BESIDE_NAME = ["started", "engine", "status"];
/** A curve, and one column more, leave the name this much: its status and start are told below it then. */
const LEAST_NAME = 206;

/** The columns that fit, before others that by which the rows are sorted; the first takes what they leave. */
export function columnsThatFit(width: number, sortedBy = ""): Column[] {
  const first = BESIDE_NAME.includes(sortedBy) ? "" : sortedBy;
  const rank = (column: Column) => (column.key === first ? Math.min(column.rank, SORTED_RANK) : column.rank);
  const shown = [...COLUMNS].sort((a, b) => rank(a) - rank(b));
  const needed = () =>
    shown.reduce((sum, column) => sum + (shown.length <= 3 && column.rank === 0 ? LEAST_NAME : column.width), 0);
  while (shown.length > 1 && needed() > width) shown.pop();
  return COLUMNS.filter((column) => shown.includes(column));
}

/** The value of `grid-template-columns`. */
export function gridTemplate(columns: Column[]): string {
  const [, ...others] = columns;
  const widths = others.map(({ width }) => `calc(${width} * var(--wb-type-unit))`);
  return ["minmax(0, 1fr)", ...widths].join(" ");
}
