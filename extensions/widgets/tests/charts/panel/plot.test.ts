import { describe, expect, it, vi } from "vitest";
import { labelWidth, roomBeside } from "../../../src/charts/panel/plot";

vi.mock("uplot", () => import("../plots"));

const context = { font: "", measureText: (text: string) => ({ width: 7 * text.length }) };

describe("the horizontal axis", () => {
  it("has room for the half of its last label", () => {
    const room = (text: string) => roomBeside(text, { font: "11px sans-serif", textZoom: 1 }, context);
    expect([room(""), room("500")]).toEqual([18, 18]);
    expect(room("499,410")).toBeGreaterThan((7 * 7) / 2);
  });
});

describe("the axis of values", () => {
  it("has room for its longest label", () => {
    for (const label of ["1", "0.0001", "100,000,000"]) {
      const width = labelWidth(["1", label], { font: "11px sans-serif", textZoom: 1 }, context);
      expect(width).toBeGreaterThan(7 * label.length);
    }
  });
});
