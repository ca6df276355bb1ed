import { describe, expect, it } from "vitest";
import { fillPointTable } from "../../../src/charts/panel/point_table";
import { SeriesStore } from "../../../src/charts/series/series_store";
import { PanelReadings } from "../../../src/charts/panel/panel_readings";
import { ViewState } from "../../../src/charts/panel/view_state";
import { CONTEXT, look, part, storeOf } from "../points";

function rowsOf(store: SeriesStore, window: [number, number] | null = null): string[][] {
  const table = document.createElement("table");
  const steps = store.curve("a")?.overview.step ?? new Float64Array(0);
  const columns = [{ label: "a", steps, valueAt: (step: number) => `a${step}` }];
  fillPointTable(table, store, { title: "Loss", columns, stepName: "step", window });
  return [...table.querySelectorAll("tr")].map((row) =>
    [...row.children].map((cell) => cell.textContent ?? ""),
  );
}

describe("the table of a chart", () => {
  it("has every step of a short run", () => {
    expect(rowsOf(storeOf(part("a", 0, [3, 2])))).toEqual([
      ["Step", "a"],
      ["1", "a1"],
      ["2", "a2"],
    ]);
  });

  it("has every evaluation where there are few", () => {
    const store = storeOf(part("a", 0, Array.from({ length: 352 }, () => 1)));
    const table = document.createElement("table");
    const steps = Float64Array.from([44, 88, 132, 176, 220, 264, 308, 352]);
    fillPointTable(table, store, { title: "Accuracy", columns: [{ label: "a", steps, valueAt: () => "1" }], stepName: "step", window: null });
    expect([...table.querySelectorAll("tbody th")].map((cell) => Number(cell.textContent))).toEqual([...steps]);
  });

  it("has twelve steps of a long one, the first and the last among them", () => {
    const rows = rowsOf(storeOf(part("a", 0, Array.from({ length: 1000 }, () => 1))));
    expect(rows.length).toBe(1 + 12);
    expect([rows[1]?.[0], rows[12]?.[0]]).toEqual(["1", "1,000"]);
  });

  it("has the steps of the part that is zoomed into", () => {
    const store = storeOf(part("a", 0, Array.from({ length: 1000 }, () => 1)));
    expect(rowsOf(store, [400.2, 404.7]).map(([step]) => step)).toEqual(["Step", "401", "402", "403", "404"]);
    const rows = rowsOf(store, [400.2, 2000]);
    expect([rows.length, rows[1]?.[0], rows[12]?.[0]]).toEqual([13, "401", "1,000"]);
    expect(rowsOf(store, [400.2, 400.7])).toEqual([["Step", "a"]]);
  });

  it("has the steps that are drawn where the zoom brought the detail back", () => {
    const store = storeOf(part("a", 0, [9, 8, 7, 6], { stride: 4 }));
    const [header, data] = part("a", 2, [7, 6, 5, 4, 3, 2, 1, 0]);
    store.applyDetail({ kind: "detail", id: "1", generation: 0, parts: [header] }, [data]);
    const state = new ViewState(store, { ...CONTEXT, curves: () => [look("a")] });
    state.select([5, 8]);
    const [loss] = new PanelReadings("loss", state).columnsOf("a", "a");
    expect([...(loss?.steps ?? [])]).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    expect([5, 8, 12].map((step) => loss?.valueAt(step))).toEqual(["5.0000", "2.0000", "7.0000"]);
  });

  it("has the test loss beside the loss, and of a metric the steps that were evaluated", () => {
    const store = storeOf(part("a", 0, [9, 8, 7, 6, 5, 4, 3, 2, 1], { evaluations: [[4, 0.5, 50], [8, 0.25, 75]] }));
    const state = new ViewState(store, { ...CONTEXT, curves: () => [look("a")] });
    const [loss, test] = new PanelReadings("loss", state).columnsOf("a", "a");
    expect([loss?.label, test?.label]).toEqual(["a", "a, test"]);
    expect([3, 4, 9].map((step) => test?.valueAt(step))).toEqual(["–", "0.5000", "0.2500"]);
    const metric = new PanelReadings("metric", state).columnsOf("a", "a");
    expect(metric.map(({ steps }) => [...steps])).toEqual([[4, 8]]);
    expect(metric[0]?.valueAt(8)).toBe("75.0");
  });

  it("is a head alone before the first step", () => {
    expect(rowsOf(new SeriesStore())).toEqual([["Step", "a"]]);
  });
});
