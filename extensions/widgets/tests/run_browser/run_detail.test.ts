import { describe, expect, it, vi } from "vitest";
import runDetail from "../../src/run_browser/run_detail";
import { signalOfTest, WidgetModel } from "../widget_model";

describe("the detail of a run", () => {
  it("is scrolled to whenever the run is opened, also if it was open", async () => {
    const traits = { heading: "a run", opened: 1, facts: [], settings: [], problem: "", traceback: "", run_id: "id", restorable: true };
    const model = new WidgetModel(traits);
    const el = document.createElement("div");
    document.body.replaceChildren(el);
    const scrolled = vi.fn();
    HTMLElement.prototype.scrollIntoView = scrolled;
    runDetail.render({ model, el, signal: signalOfTest() } as never);
    model.receive("facts", [["Status", "running"]] as never);
    await Promise.resolve();
    expect(scrolled).not.toHaveBeenCalled();
    model.receive("opened", 2);
    await Promise.resolve();
    expect(scrolled).toHaveBeenCalledTimes(1);
  });

  it("shows facts and why it failed, and closes", async () => {
    const traits = { heading: "", opened: 0, facts: [["Model", "m"]], settings: [], problem: "It failed.", traceback: "T", run_id: "id", restorable: true };
    const model = new WidgetModel(traits);
    const el = document.createElement("div");
    const [browser, grid] = [document.createElement("div"), document.createElement("div")];
    browser.className = "wb-run-browser";
    grid.className = "wb-run-grid";
    grid.tabIndex = 0;
    browser.append(grid, el);
    document.body.replaceChildren(browser);
    runDetail.render({ model, el, signal: signalOfTest() } as never);
    expect(el.hidden).toBe(true);
    model.receive("heading", "a run");
    await Promise.resolve();
    expect(el.textContent).toContain("It failed.");
    const button = (name: string) => [...el.querySelectorAll("button")].find((each) => each.textContent === name);
    button("Use its settings")?.click();
    expect(model.sent).toEqual([{ kind: "restore" }]);
    button("Close")?.focus();
    model.receive("problem", "Its folder is gone.");
    await Promise.resolve();
    expect(document.activeElement).toBe(button("Close"));
    button("Close")?.click();
    await Promise.resolve();
    expect([el.hidden, document.activeElement]).toEqual([true, grid]);
  });
});
