import { describe, expect, it } from "vitest";
import { lineSample, lineStyle } from "../src/theme";

const style = { color: "#aa5500", dark_color: "#ffcc88", dash: [9, 2] };

/** An element within a page whose theme is light or dark, as JupyterLab marks it. */
function within(light: boolean): HTMLElement {
  document.body.setAttribute("data-jp-theme-light", String(light));
  const el = document.createElement("div");
  document.body.replaceChildren(el);
  return el;
}

describe("lineStyle", () => {
  it("has the colour of the theme in force", () => {
    expect(lineStyle(within(true), style)).toEqual({ color: "#aa5500", dash: [9, 2] });
    expect(lineStyle(within(false), style)).toEqual({ color: "#ffcc88", dash: [9, 2] });
  });

  it("is dashed for an engine that nothing is known of", () => {
    const { color, dash } = lineStyle(within(true), undefined);
    expect(color).toMatch(/^#[0-9a-f]{6}$/);
    expect(dash.length).toBeGreaterThan(0);
  });
});

describe("lineSample", () => {
  it("carries both colours and the dash, and is hidden from readers", () => {
    const sample = lineSample(style);
    const line = sample.querySelector("line") as SVGLineElement;
    expect(line.getAttribute("stroke-dasharray")).toBe("9 2");
    expect(line.style.getPropertyValue("--wb-line-color")).toBe("#aa5500");
    expect(line.style.getPropertyValue("--wb-line-dark-color")).toBe("#ffcc88");
    expect(sample.getAttribute("aria-hidden")).toBe("true");
  });

  it("of a solid line has no dashes", () => {
    const line = lineSample({ ...style, dash: [] }).querySelector("line");
    expect(line?.getAttribute("stroke-dasharray")).toBe("");
  });
});
