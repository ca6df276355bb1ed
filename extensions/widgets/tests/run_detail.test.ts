import { describe, expect, it } from "vitest";
import runDetail from "../src/run_browser/run_detail";
import { WidgetModel } from "./widget_model";

describe("the detail of a run", () => {
  it("shows facts and why it failed, and closes", async () => {
    const traits = { heading: "", facts: [["Model", "m"]], settings: [], problem: "It failed.", traceback: "T", png: "", figure_text: "Loss", run_id: "id", restorable: true };
    const model = new WidgetModel(traits);
    const el = document.createElement("div");
    document.body.replaceChildren(el);
    runDetail.render({ model, el, signal: new AbortController().signal } as never);
    expect(el.hidden).toBe(true);
    model.receive("heading", "a run");
    await Promise.resolve();
    expect(el.textContent).toContain("It failed.");
    expect(el.textContent).toContain("No step was taken");
    model.receive("figure_text", "");
    await Promise.resolve();
    expect(el.textContent).not.toContain("No step was taken");
    const button = (name: string) => [...el.querySelectorAll("button")].find((each) => each.textContent === name);
    button("Use its settings")?.click();
    expect(model.sent).toEqual([{ kind: "restore" }]);
    button("Close")?.click();
    await Promise.resolve();
    expect(el.hidden).toBe(true);
  });
});
