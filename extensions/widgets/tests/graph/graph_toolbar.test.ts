import { describe, expect, it, vi } from "vitest";
import { GraphToolbar } from "../../src/graph/graph_toolbar";

describe("the toolbar of the graphs", () => {
  it("does not ask a kernel that is gone for a file, and says so", () => {
    const nothing = () => {};
    const onSaveJson = vi.fn();
    const toolbar = new GraphToolbar({
      onShown: nothing,
      onQuery: nothing,
      onMatch: nothing,
      onLeaveSearch: nothing,
      onPaint: nothing,
      onZoom: nothing,
      onFit: nothing,
      onSaveSvg: nothing,
      onSaveJson,
    });
    const json = [...toolbar.root.querySelectorAll("button")].find(({ textContent }) => textContent === "JSON");
    json?.click();
    toolbar.loseKernel();
    json?.click();
    expect(onSaveJson).toHaveBeenCalledTimes(1);
    expect(json?.getAttribute("aria-label")).toContain("without a kernel");
  });
});
