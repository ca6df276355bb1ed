import { describe, expect, it, vi } from "vitest";
import { GraphToolbar } from "../../src/graph/graph_toolbar";

const nothing = () => {};
const IGNORED = {
  onShown: nothing,
  onQuery: nothing,
  onMatch: nothing,
  onLeaveSearch: nothing,
  onPaint: nothing,
  onZoom: nothing,
  onFit: nothing,
  onSaveSvg: nothing,
  onSaveJson: nothing,
};

describe("the toolbar of the graphs", () => {
  it("offers node data of a profile, and asks a kernel that is gone for no file", () => {
    const onSaveJson = vi.fn();
    const toolbar = new GraphToolbar({
      ...IGNORED,
      onSaveJson,
    });
    const found = [...toolbar.root.querySelectorAll("button")];
    const saves = found.filter(({ textContent }) => ["JSON", "Node data"].includes(textContent ?? ""));
    toolbar.showPaint("", false);
    expect(saves.map(({ hidden }) => hidden)).toEqual([false, true]);
    toolbar.showPaint("time", true);
    expect(saves.map(({ hidden }) => hidden)).toEqual([false, false]);
    for (const save of saves) save.click();
    toolbar.loseKernel();
    for (const save of saves) save.click();
    expect(onSaveJson.mock.calls).toEqual([["model-explorer"], ["node-data"]]);
    for (const save of saves) expect(save.getAttribute("aria-label")).toContain("without a kernel");
  });

  it("keeps the graph that was chosen last beside a third one", () => {
    const graphs = ["forward", "training", "eval", "optimizer"];
    let shown = ["optimizer"];
    const toolbar = new GraphToolbar({
      ...IGNORED,
      onShown: (next) => {
        shown = next;
        toolbar.showGraphs(graphs, shown);
      },
    });
    toolbar.showGraphs(graphs, shown);
    const press = (graph: string) => {
      [...toolbar.root.querySelectorAll("button")].find(({ textContent }) => textContent === graph)?.click();
      return shown;
    };
    expect(press("forward")).toEqual(["forward", "optimizer"]);
    expect(press("training")).toEqual(["forward", "training"]);
    expect(press("forward")).toEqual(["training"]);
    expect(press("eval")).toEqual(["training", "eval"]);
  });
});
