import { describe, expect, it } from "vitest";
import { element } from "../src/element";
import { roveFocus } from "../src/roving_focus";

describe("a row of buttons", () => {
  it("is one stop of the Tab key, in which the arrows move past those that are hidden", () => {
    const names = ["open", "hidden", "compare", "delete"];
    const buttons = names.map((name) => element("button", {}, name));
    const [open, hidden, compare, last] = buttons as [HTMLButtonElement, HTMLButtonElement, HTMLButtonElement, HTMLButtonElement];
    hidden.hidden = true;
    const bar = element("div", {}, ...buttons);
    document.body.replaceChildren(bar);
    roveFocus(bar);
    expect(buttons.map((each) => each.tabIndex)).toEqual([0, -1, -1, -1]);
    const press = (key: string) => document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    open.focus();
    press("ArrowRight");
    expect(document.activeElement).toBe(compare);
    expect(buttons.map((each) => each.tabIndex)).toEqual([-1, -1, 0, -1]);
    press("End");
    expect(document.activeElement).toBe(last);
    press("ArrowRight");
    expect(document.activeElement).toBe(open);
    press("ArrowLeft");
    expect(document.activeElement).toBe(last);
    press("Home");
    expect(document.activeElement).toBe(open);
  });
});
