import { describe, expect, it } from "vitest";
import { columnsThatFit, COLUMNS, formatDuration } from "../../src/run_browser/run_columns";
import { filterValues, keptOrder, matches, NO_FILTERS, sortedIds } from "../../src/run_browser/run_order";
import { type RunRow, RunStore } from "../../src/run_browser/run_row";
import { Selection } from "../../src/run_browser/selection";
import { sparklinePath } from "../../src/run_browser/sparkline";
import { anchoredScroll, rowsInView, scrollIntoView } from "../../src/run_browser/virtual_rows";
import { row } from "./run_rows";

const started = { key: "started", descending: true } as const;
const byId = (...rows: RunRow[]) => new Map(rows.map((each) => [each.id, each]));

describe("the order of runs", () => {
  it("sorts numbers, names by their numbers, and what is not known last in both directions", () => {
    const rows = [
      row("a", { lastLoss: 2, name: "run 10" }),
      row("b", { lastLoss: null, name: "run 9" }),
      row("c", { lastLoss: 0.5, name: "Run 1" }),
    ];
    const sorted = (key: "lastLoss" | "name", descending: boolean) =>
      sortedIds(rows, "", NO_FILTERS, { key, descending }).join("");
    expect(sorted("lastLoss", false)).toBe("cab");
    expect(sorted("lastLoss", true)).toBe("acb");
    expect(sorted("name", false)).toBe("cba");
  });

  it("finds every word of a query anywhere in a row, in any case", () => {
    const rows = [
      row("a", { tags: ["Baseline"], notes: "of the class" }),
      row("b", { model: "digits-cnn", reason: "The loss is nan" }),
    ];
    const found = (query: string) => sortedIds(rows, query, NO_FILTERS, started).join("");
    expect(found("baseline CLASS")).toBe("a");
    expect(found("NaN")).toBe("b");
    expect(found("baseline nan")).toBe("");
    expect(found("  ")).toHaveLength(2);
    expect(found("(*")).toBe("");
  });

  it("filters by several values at once and counts what there is", () => {
    const rows = [
      row("a", { status: "failed", tags: ["x", "y"] }),
      row("b", { status: "failed", tags: ["y"] }),
      row("c", { status: "completed" }),
    ];
    const filters = { ...NO_FILTERS, status: "failed", tag: "x" };
    expect(sortedIds(rows, "", filters, started)).toEqual(["a"]);
    expect(filterValues(rows, "tag")).toEqual([["y", 2], ["x", 1]]);
  });

  it("leaves rows where they are when their values change, and puts new ones in their place", () => {
    const order = { key: "lastLoss", descending: false } as const;
    const before = ["a", "b"];
    const rows = byId(row("a", { lastLoss: 3 }), row("b", { lastLoss: 2 }), row("c", { lastLoss: 1 }));
    expect(keptOrder(before, rows, "", NO_FILTERS, order)).toEqual(["c", "a", "b"]);
    rows.delete("a");
    expect(keptOrder(before, rows, "", NO_FILTERS, order)).toEqual(["c", "b"]);
    expect(keptOrder([], rows, "", NO_FILTERS, order)).toEqual(["c", "b"]);
  });
});

describe("the selection", () => {
  const shown = ["a", "b", "c", "d"];

  it("extends from where it began, in both directions", () => {
    const selection = new Selection();
    selection.only("b");
    selection.extendTo("d", shown);
    expect([...selection.ids]).toEqual(["b", "c", "d"]);
    selection.extendTo("a", shown);
    expect([...selection.ids]).toEqual(["a", "b"]);
    expect(selection.active).toBe("a");
  });

  it("keeps what it holds when rows come, and forgets what is gone", () => {
    const selection = new Selection();
    selection.only("b");
    selection.toggle("c");
    selection.retain((id) => id !== "c", shown);
    expect([...selection.ids]).toEqual(["b"]);
    expect(selection.active).toBe("d");
    selection.retain((id) => id === "b", shown);
    expect(selection.active).toBe("b");
    selection.retain(() => false, shown);
    expect([selection.ids.size, selection.active]).toEqual([0, null]);
  });
});

describe("virtual rows", () => {
  it("draws what is in view and some around it", () => {
    expect(rowsInView(0, 400, 40, 10_000)).toEqual({ first: 0, end: 16 });
    expect(rowsInView(40 * 5000, 400, 40, 10_000)).toEqual({ first: 4994, end: 5016 });
    expect(rowsInView(1e9, 400, 40, 3)).toEqual({ first: 3, end: 3 });
  });

  it("keeps the row at the top in its place when rows come, go or are deleted", () => {
    expect(anchoredScroll(["a", "b", "c"], ["n", "a", "b", "c"], 50, 40)).toBe(90);
    expect(anchoredScroll(["a", "b", "c"], ["b", "c"], 50, 40)).toBe(10);
    expect(anchoredScroll(["a", "b", "c"], ["a", "c"], 50, 40)).toBe(10);
    expect(anchoredScroll(["a"], [], 10, 40)).toBe(10);
  });

  it("scrolls as little as it can", () => {
    expect(scrollIntoView(2, 0, 400, 40)).toBe(0);
    expect(scrollIntoView(20, 0, 400, 40)).toBe(440);
    expect(scrollIntoView(3, 400, 400, 40)).toBe(120);
  });
});

describe("the columns", () => {
  it("are fewer where the page is narrow, name and curve the last", () => {
    expect(columnsThatFit(2000)).toEqual(COLUMNS);
    expect(columnsThatFit(340).map((column) => column.key)).toEqual(["name", "curve"]);
    expect(columnsThatFit(680).map((column) => column.key)).toContain("metric");
    expect(columnsThatFit(760).map((column) => column.key)).toContain("samplesPerS");
  });

  it("tell runs of a model apart by their settings, and have the test loss below the last", () => {
    const run = row("r", { settings: "lr 0.01, batch 32, 8 epochs", testLoss: 0.125 });
    const text = (key: string) => COLUMNS.find((column) => column.key === key)!.fill(run, new Set());
    const shown = (key: string) => text(key).map((one) => (typeof one === "string" ? one : one.textContent));
    expect(shown("name")[1]).toContain("lr 0.01, batch 32, 8 epochs · digits");
    expect(shown("lastLoss")).toEqual(["0.5000", "test 0.1250"]);
    expect(sortedIds([run, row("s", { testLoss: 0.0625 })], "0.01", NO_FILTERS, { key: "testLoss", descending: false })).toEqual(["r"]);
  });

  it("have engine and start once, in columns of their own where those are shown", () => {
    const run = row("r", { name: "", engine: "ondevice", started: new Date(2026, 10, 23, 14, 5, 12).getTime() / 1000 });
    const texts = (width: number, of = run) => {
      const columns = columnsThatFit(width);
      const beside = new Set<string>(columns.map(({ key }) => key));
      return columns.flatMap((column) => column.fill(of, beside)).map((one) => (typeof one === "string" ? one : one.textContent));
    };
    const [wide, narrow] = [texts(2000), texts(340)];
    expect(narrow.slice(0, 2)).toEqual(["digits-mlp · ondevice", "completed23 Nov 14:05:12digits"]);
    expect(wide.slice(0, 2)).toEqual(["digits-mlp", "digits"]);
    expect(wide.filter((text) => text?.includes("ondevice"))).toEqual(["ondevice"]);
    expect(wide.slice(-2)).toEqual(["23 Nov 2026", "14:05:12"]);
    const shared = texts(2000, { ...run, trainedBy: "ondevice × 8" });
    expect(shared[0]).toBe("digits-mlp · ondevice × 8");
    const renamed = { ...run, name: "mine" };
    expect(texts(340, renamed)[1]).toBe("completedondevice · digits-mlp · digits");
    expect(texts(2000, renamed)[1]).toBe("digits-mlp · digits");
    expect(texts(2000, { ...run, comparison: "20261128" })[1]).toBe("digits · in a comparison");
    expect(matches({ ...run, comparison: "20261128" }, ["comparison"], NO_FILTERS)).toBe(true);
    expect(matches(run, ["comparison"], NO_FILTERS)).toBe(false);
  });

  it("write durations as people read them", () => {
    expect([0.84, 45.2, 134, 11_130].map(formatDuration)).toEqual(["0.8\u00a0s", "45\u00a0s", "2\u00a0min 14\u00a0s", "3\u00a0h 5\u00a0min"]);
  });
});

describe("the sparkline", () => {
  it("has a gap where no loss was finite, and nothing where there is none", () => {
    expect(sparklinePath(new Float32Array([NaN]))).toBe("");
    expect(sparklinePath(new Float32Array([2, NaN, 1])).match(/M/g)).toHaveLength(2);
    expect(sparklinePath(new Float32Array([1]))).toMatch(/h0$/);
  });
});

describe("the store", () => {
  it("takes in changes with their curves", () => {
    const store = new RunStore();
    const sent = (id: string, points: number) => ({ ...row(id, {}), curve: undefined, points });
    const curves = new Float32Array([1, 2, 3]);
    store.apply({ kind: "rows", full: true, rows: [sent("a", 1), sent("b", 2)], removed: [] }, curves);
    expect([...(store.rows.get("b")?.curve ?? [])]).toEqual([2, 3]);
    store.apply({ kind: "rows", full: false, rows: [], removed: ["a"] }, new Float32Array());
    expect([...store.rows.keys()]).toEqual(["b"]);
  });
});
