import { describe, expect, it, vi } from "vitest";
import codePanel from "../../src/app/code_panel";
import { WidgetModel } from "../widget_model";

describe("the code of a page", () => {
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
