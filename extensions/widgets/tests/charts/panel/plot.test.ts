import { describe, expect, it, vi } from "vitest";
import { labelWidth } from "../../../src/charts/panel/plot";

vi.mock("uplot", () => import("../plots"));

describe("the axis of values", () => {
  it("has room for its longest label", () => {
    const context = { font: "", measureText: (text: string) => ({ width: 7 * text.length }) };
    for (const label of ["1", "0.0001", "100,000,000"]) {
      const width = labelWidth(["1", label], { font: "11px sans-serif", textZoom: 1 }, context);
      expect(width).toBeGreaterThan(7 * label.length);
    }
  });
});
