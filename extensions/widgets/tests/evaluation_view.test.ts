import { describe, expect, it } from "vitest";
import evaluationView from "../src/train/evaluation_view";
import { WidgetModel } from "./widget_model";

function render(classes: number): HTMLElement {
  const confusion = Array.from({ length: classes }, () => Array.from({ length: classes }, () => 1));
  const evaluations = [{ engine: "pytorch", when: "step 3", metrics: [["accuracy", "97 %"]], confusion }];
  const el = document.createElement("div");
  evaluationView.render({ model: new WidgetModel({ evaluations, classes: [] as string[] }), el } as never);
  return el;
}

describe("the confusion matrix", () => {
  it("is a table that can be read", () => {
    const el = render(30);
    expect(el.querySelectorAll("table tbody tr")).toHaveLength(30);
  });

  it("is said to be too large to be shown", () => {
    const el = render(31);
    expect(el.querySelector("table")).toBeNull();
    expect(el.querySelector("details")?.textContent).toContain("of 31 classes, and at most 30 are shown");
  });
});
