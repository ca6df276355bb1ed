import { describe, expect, it } from "vitest";
import comparisonTable from "../../src/compare/comparison_table";
import { show } from "../widget_model";

const columns = [
  { key: "samples_per_s", label: "Throughput", unit: "samples/s", description: "d" },
  { key: "ratio", label: "Ratio", unit: "95 % interval", description: "d" },
  { key: "peak_memory_mb", label: "Peak memory", unit: "MB", description: "d" },
  { key: "max_loss_difference", label: "Loss difference", unit: "largest", description: "d" },
  { key: "status", label: "Status", unit: "", description: "d" },
];
const cells = (more: object) => ({
  samples_per_s: 363.59,
  ratio: "1.00",
  ratio_low: "0.900",
  ratio_high: "1.11",
  peak_memory_mb: 82.66,
  max_loss_difference: 0,
  status: "completed",
  ...more,
});
const traits = (rows: object[]) => ({
  columns,
  rows,
  heading: "Run",
  reference: "pytorch",
  caption: "on here",
  hint: "Press Compare.",
  engine_styles: {},
});

/** The view draws when its size is known, which no layout tells here, or when a trait changes. */
function render(rows: object[]) {
  const shown = show(comparisonTable, traits([]));
  shown.model.receive("rows", rows);
  const texts = () =>
    [...shown.el.querySelectorAll("tbody tr")].map((line) =>
      [...line.children].map((cell) => cell.textContent),
    );
  return { ...shown, texts };
}

describe("the table of a comparison", () => {
  it("says what to do while there are no figures", () => {
    expect(render([]).el.textContent).toBe("FiguresPress Compare.");
  });

  it("takes no room while there is nothing to say", () => {
    const { el, model } = render([]);
    expect(el.hidden).toBe(false);
    model.receive("hint", "");
    expect(el.hidden).toBe(true);
    model.receive("rows", [{ engine: "a", note: "", cells: cells({}) }]);
    expect(el.hidden).toBe(false);
  });

  it("has a row an engine, with the interval within the ratio", () => {
    const { el, texts } = render([
      { engine: "pytorch", note: "", cells: cells({}) },
      { engine: "lab", note: "", cells: cells({ ratio: "2.0", max_loss_difference: 4.8e-7 }) },
    ]);
    expect(texts()).toEqual([
      ["pytorch", "364", "1.00×reference", "82.7", "0", "completed"],
      ["lab", "364", "2.0×0.900 to 1.11", "82.7", "4.8e-07", "completed"],
    ]);
    expect(el.querySelector("thead th")?.textContent).toBe("Run");
  });

  it("shows a dash where there is no figure, and no interval of too few rounds, or of runs without any", () => {
    const none = { samples_per_s: null, ratio: null, ratio_low: null, ratio_high: null };
    const few = { ratio_low: null, ratio_high: null };
    const { texts } = render([
      { engine: "a", note: "", cells: cells({ ...none, status: "not started" }) },
      { engine: "b", note: "", cells: cells(few) },
      { engine: "c", note: "", cells: cells({ ...few, rounds: 0 }) },
    ]);
    expect(texts()[0]?.slice(1, 3)).toEqual(["–", "–"]);
    expect(texts()[1]?.[2]).toBe("1.00×too few rounds");
    expect(texts()[2]?.[2]).toBe("1.00×no interval");
  });

  it("marks an engine that PyTorch stood in for and says why", () => {
    const { el } = render([{ engine: "lab", note: "PyTorch ran it.", cells: cells({}) }]);
    expect(el.querySelector(".wb-mark")?.textContent).toBe("*");
    expect(el.textContent).toContain("* lab: PyTorch ran it.");
  });
});
