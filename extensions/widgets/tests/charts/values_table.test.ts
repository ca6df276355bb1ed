import { describe, expect, it } from "vitest";
import { ViewState } from "../../src/charts/panel/view_state";
import { fillValuesTable } from "../../src/charts/values_table";
import { CONTEXT, look, part, storeOf } from "./points";

describe("the table of values", () => {
  it("has the values at the end without a cursor, and those at the cursor with one", () => {
    const points = part("fake", 0, [3, 2, 1], { seconds: 2 });
    const store = storeOf(points);
    let rates = {};
    const state = new ViewState(store, {
      ...CONTEXT,
      curves: () => [look("fake")],
      totalSteps: () => 3,
      rates: () => rates,
      ratesNote: () => "mean",
    });
    const table = document.createElement("table");
    const shown = () => {
      fillValuesTable(table, state);
      const heads = [...table.querySelectorAll("thead th")].slice(3).map((cell) => cell.textContent);
      return [heads, [...table.querySelectorAll("tbody td")].slice(2).map((cell) => cell.textContent)];
    };
    const at = (place: string) => [
      "Lossat the cursor",
      ...["Samples/s", "MB"].map((title) => title + place),
      `Time${place}, warm-up included`,
    ];
    expect(shown()).toEqual([at("at the last step"), ["–", "16.0", "100", "6.0\u00a0s"]]);
    state.cursor = 2;
    expect(shown()).toEqual([at("at the cursor"), ["2.0000step 2", "16.0", "100", "4.0\u00a0s"]]);
    // The throughput of the whole run, in place of that of the last steps.
    rates = { fake: 15.5 };
    expect(shown()).toEqual([at("at the cursor"), ["2.0000step 2", "16.0", "100", "4.0\u00a0s"]]);
    state.cursor = null;
    const [heads, cells] = shown();
    expect([heads?.[1], cells?.[1]]).toEqual(["Samples/smean", "15.5"]);
    // Where nothing was evaluated, there is no column for it.
    const titles = () => [...table.querySelectorAll("thead th")].map((cell) => cell.textContent);
    expect(titles()).not.toContain("Best test loss");
    store.curve("fake")!.facts.best_evaluation = { value: 0.5, step: 2 };
    fillValuesTable(table, state);
    expect(titles()[3]).toBe("Best test loss");
    expect([...table.querySelectorAll("tbody td")][2]?.textContent).toBe("0.5000step 2");
  });
});
