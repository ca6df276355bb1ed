import { afterEach, describe, expect, it } from "vitest";
import { guardKeys } from "../../src/app/page_keys";

/** Whether JupyterLab, which listens at the document, leaves a key alone that `target` gets. */
function isLeftAlone(target: Element, key: string, more: KeyboardEventInit = {}): boolean {
  let left = false;
  const look = () => (left = target.hasAttribute("data-lm-suppress-shortcuts"));
  document.addEventListener("keydown", look, { capture: true, once: true });
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more }));
  return left;
}

describe("the keys of a page", () => {
  guardKeys();
  afterEach(() => new Promise((done) => setTimeout(done)));
  document.body.innerHTML = '<div class="wb"><select></select><i data-lm-suppress-shortcuts></i></div><button></button>';
  const field = document.querySelector("select") as Element;

  it("are no shortcuts of the notebook where they would change it", () => {
    expect(["x", "a", "Enter"].map((key) => isLeftAlone(field, key))).toEqual([true, true, true]);
    expect(isLeftAlone(field, "Enter", { shiftKey: true })).toBe(true);
    expect(isLeftAlone(field, "Enter", { ctrlKey: true })).toBe(true);
    expect(isLeftAlone(field, "a", { ctrlKey: true })).toBe(true);
  });

  it("are JupyterLab's where they save or open something, and outside of a page", () => {
    expect(isLeftAlone(field, "s", { ctrlKey: true })).toBe(false);
    expect(isLeftAlone(field, "b", { metaKey: true })).toBe(false);
    expect(isLeftAlone(document.querySelector("button") as Element, "x")).toBe(false);
    // What has all keys for itself keeps them.
    expect(isLeftAlone(document.querySelector("i") as Element, "s", { ctrlKey: true })).toBe(true);
  });

  it("are its own while it fills the window, wherever the focus is, but for saving", async () => {
    document.body.innerHTML =
      '<div class="jp-Cell"><div class="wb-page" popover="manual"><div class="wb"><select></select></div></div></div>';
    for (const selector of [".jp-Cell", ".wb-page", "select"]) {
      const at = document.querySelector(selector) as Element;
      for (const [key, more] of [["d", {}], ["b", { ctrlKey: true }], ["c", { ctrlKey: true, shiftKey: true }]] as const) {
        expect(isLeftAlone(at, key, more)).toBe(true);
        await new Promise((done) => setTimeout(done));
      }
      expect(isLeftAlone(at, "s", { ctrlKey: true })).toBe(false);
    }
    document.querySelector(".wb-page")?.removeAttribute("popover");
    expect(isLeftAlone(document.querySelector(".jp-Cell") as Element, "d")).toBe(false);
  });
});
