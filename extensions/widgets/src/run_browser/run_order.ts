// Which runs are shown, and in what order.

import { COMPARED, displayName, type RunRow } from "./run_row";

export type SortKey =
  | "name"
  | "model"
  | "dataset"
  | "engine"
  | "status"
  | "started"
  | "durationS"
  | "steps"
  | "lastLoss"
  | "bestLoss"
  | "testLoss"
  | "metric"
  | "samplesPerS";

export const SORT_LABELS: Record<SortKey, string> = {
  started: "Started",
  name: "Name",
  model: "Model",
  dataset: "Dataset",
  engine: "Engine",
  status: "Status",
  durationS: "Duration",
  steps: "Steps",
  lastLoss: "Last loss",
  bestLoss: "Best loss",
  testLoss: "Test loss",
  metric: "Metric",
  samplesPerS: "Throughput",
};

/** Required values of a row by column; an empty one allows all. */
export interface Filters {
  status: string;
  engine: string;
  model: string;
  tag: string;
}

export const NO_FILTERS: Filters = { status: "", engine: "", model: "", tag: "" };

export interface Order {
  key: SortKey;
  descending: boolean;
}

/** By which the first is what one looks for: texts by the alphabet, losses from the lowest. */
const ASCENDING: SortKey[] = ["name", "status", "engine", "model", "dataset", "lastLoss", "bestLoss", "testLoss"];

/** The order by a key that was not chosen before. */
export function firstOrder(key: SortKey): Order {
  return { key, descending: !ASCENDING.includes(key) };
}

const texts = new WeakMap<RunRow, string>();

/** Everything that can be searched for in a row, in lower case. */
function searchText(row: RunRow): string {
  let text = texts.get(row);
  if (text === undefined) {
    const { id, name, model, dataset, engine, status, reason, tags, notes, metricName, trainedBy, settings } = row;
    const parts = [id, name, model, dataset, engine, trainedBy, settings, status, reason, notes, metricName, row.comparison && `${COMPARED} ${row.comparison}`, ...tags];
    text = parts.join("\n").toLowerCase();
    texts.set(row, text);
  }
  return text;
}

/** Whether a row holds every word of the query and passes the filters. */
export function matches(row: RunRow, words: string[], filters: Filters): boolean {
  return (
    (!filters.status || row.status === filters.status) &&
    (!filters.engine || row.engine === filters.engine) &&
    (!filters.model || row.model === filters.model) &&
    (!filters.tag || row.tags.includes(filters.tag)) &&
    words.every((word) => searchText(row).includes(word))
  );
}

export function wordsOf(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

const collator = new Intl.Collator("en", { numeric: true });

/** Compares two rows for sorting; unknown values come last in either direction. */
export function compareRows(a: RunRow, b: RunRow, { key, descending }: Order): number {
  const left = key === "name" ? displayName(a) : a[key];
  const right = key === "name" ? displayName(b) : b[key];
  // A later id was created later.
  const tie = a.id < b.id ? 1 : -1;
  if (left === right) return tie;
  if (left === null || left === "") return 1;
  if (right === null || right === "") return -1;
  const ascending =
    typeof left === "number" && typeof right === "number"
      ? left - right
      : collator.compare(String(left), String(right));
  return (descending ? -ascending : ascending) || tie;
}

/** The ids of the rows that are shown, sorted. */
export function sortedIds(
  rows: Iterable<RunRow>,
  query: string,
  filters: Filters,
  order: Order,
): string[] {
  const words = wordsOf(query);
  const shown = [...rows].filter((row) => matches(row, words, filters));
  return shown.sort((a, b) => compareRows(a, b, order)).map((row) => row.id);
}

/**
 * The ids after some rows have changed: those that were shown stay in their order, so that nothing
 * moves while a user looks at it, and new ones are put where the order wants them.
 */
export function keptOrder(
  before: string[],
  rows: Map<string, RunRow>,
  query: string,
  filters: Filters,
  order: Order,
): string[] {
  const wanted = sortedIds(rows.values(), query, filters, order);
  const now = new Set(wanted);
  const kept = before.filter((id) => now.has(id));
  const known = new Set(kept);
  const added = wanted.filter((id) => !known.has(id));
  if (kept.length === 0) return added;
  // Both are walked once: each new row comes before the first kept one that it is sorted before.
  const merged: string[] = [];
  let next = 0;
  for (const id of kept) {
    const row = rows.get(id) as RunRow;
    while (next < added.length) {
      const fresh = rows.get(added[next] as string) as RunRow;
      if (compareRows(fresh, row, order) > 0) break;
      merged.push(fresh.id);
      next += 1;
    }
    merged.push(id);
  }
  return merged.concat(added.slice(next));
}

/** The values that a filter can have with how many rows have each, most frequent first. */
export function filterValues(rows: Iterable<RunRow>, name: keyof Filters): [string, number][] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    for (const value of name === "tag" ? row.tags : [row[name]]) {
      if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
  return [...counts].sort((a, b) => b[1] - a[1] || collator.compare(a[0], b[0]));
}
