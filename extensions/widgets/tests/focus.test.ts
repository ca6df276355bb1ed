import { beforeEach, describe, expect, it } from "vitest";
import { element } from "../src/element";
import { keepFocus, onPress, setUsable } from "../src/focus";

describe("the focus where elements are made anew", () => {
  let root: HTMLElement;
  let outside: HTMLButtonElement;
  const button = (name: string) => element("button", {}, name);
  const named = (name: string) => [...root.querySelectorAll("button")].find((each) => each.textContent === name);

  beforeEach(() => {
    root = element("div", {}, button("a"), button("b"));
    outside = button("outside");
    document.body.replaceChildren(root, outside);
  });

  it("goes to the new element of the same name", () => {
    named("b")?.focus();
    keepFocus(root, () => root.replaceChildren(button("a"), button("b")));
    expect(document.activeElement).toBe(named("b"));
  });

  it("goes to the new element of the same key, whatever it is called", () => {
    const keyed = (text: string) => element("button", { "data-key": "scope" }, text);
    root.replaceChildren(button("a"), keyed("Unfold"));
    named("Unfold")?.focus();
    keepFocus(root, () => root.replaceChildren(button("a"), keyed("Fold")));
    expect(document.activeElement).toBe(named("Fold"));
  });

  it("stays on an element that was moved, and elsewhere", () => {
    const kept = named("b") as HTMLElement;
    kept.focus();
    keepFocus(root, () => root.replaceChildren(kept, button("a")));
    expect(document.activeElement).toBe(kept);
    outside.focus();
    keepFocus(root, () => root.replaceChildren(button("a"), button("b")));
    expect(document.activeElement).toBe(outside);
  });

  it("goes elsewhere where nothing replaces what had it, or that is hidden", () => {
    named("b")?.focus();
    keepFocus(root, () => (root.hidden = true), () => outside);
    expect(document.activeElement).toBe(outside);
  });

  it("stays on a button that cannot be pressed any more", () => {
    const pressed: number[] = [];
    onPress(outside, () => {
      pressed.push(1);
      setUsable(outside, false);
    });
    outside.focus();
    outside.click();
    outside.click();
    expect([pressed.length, document.activeElement]).toEqual([1, outside]);
    setUsable(outside, true);
    outside.click();
    expect(pressed.length).toBe(2);
  });
});
