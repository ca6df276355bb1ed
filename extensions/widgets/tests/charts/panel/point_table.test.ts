import { describe, expect, it } from "vitest";
import { fillPointTable } from "../../../src/charts/panel/point_table";
import { SeriesStore } from "../../../src/charts/series/series_store";
import { look, part, storeOf } from "../points";

function rowsOf(store: SeriesStore, window: [number, number] | null = null): string[][] {
  const table = document.createElement("table");
  const curves = [look("a")];
  fillPointTable(table, store, { title: "Loss", curves, stepName: "step", window, valueAt: (key, step) => `${key}${step}` });
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

  it("is a head alone before the first step", () => {
    expect(rowsOf(new SeriesStore())).toEqual([["Step", "a"]]);
  });
});
