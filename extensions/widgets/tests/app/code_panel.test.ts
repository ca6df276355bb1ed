import { describe, expect, it, vi } from "vitest";
import codePanel from "../../src/app/code_panel";
import { show, WidgetModel } from "../widget_model";

describe("the code of a page", () => {
  it("is inserted once by a double click", () => {
    const insertCell = vi.fn();
    const page = { model: { sharedModel: { insertCell } }, widgets: [] };
    const { el } = show(codePanel, { code: { model: "one" }, page_id: "p" }, { context: page });
    const insert = [...el.querySelectorAll("button")].find((each) => each.textContent?.startsWith("Insert"))!;
    const said = el.querySelector('[role="status"]') as HTMLElement;
    insert.dispatchEvent(new MouseEvent("click", { detail: 2 }));
    expect(said.textContent).toBe("");
    insert.dispatchEvent(new MouseEvent("click", { detail: 1 }));
    expect(said.textContent).not.toBe("");
  });

  it("is unfolded where a step is used alone", () => {
    const { el, model } = show(codePanel, { code: { train: "one" }, step: "train", page_id: "p" }, {});
    const details = el.querySelector("details") as HTMLDetailsElement;
    expect(details.open).toBe(false);
    expect(details.querySelector("summary")?.textContent).toBe("Equivalent Python code");
    expect(details.querySelector("code")?.textContent).toBe("one");
    model.receive("code", { train: "two" });
    expect(details.querySelector("code")?.textContent).toBe("two");
  });

  it("is looked for in no page once the view is gone", () => {
    vi.useFakeTimers();
    const ended = new AbortController();
    const model = Object.assign(new WidgetModel({ code: { model: "one" }, page_id: "" }), { widget_manager: {} });
    const el = document.createElement("div");
    codePanel.render({ model, el, signal: ended.signal } as never);
    expect(el.querySelector("code")?.textContent).toBe("one");
    vi.advanceTimersByTime(1000);
    expect(vi.getTimerCount()).toBe(1);
    ended.abort();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });
});
