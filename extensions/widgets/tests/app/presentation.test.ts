import { beforeEach, describe, expect, it } from "vitest";
import { Presentation } from "../../src/app/presentation";

describe("a presentation", () => {
  let page: HTMLElement;
  let beside: HTMLElement;
  let ended: number;
  let presentation: Presentation;
  const press = (from: Element, key = "Escape") =>
    from.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

  beforeEach(() => {
    page = document.createElement("div");
    page.innerHTML = '<button>Train</button><input type="search" />';
    // jsdom has no popovers.
    Object.assign(page, { showPopover: () => page.setAttribute("open", "") });
    beside = document.createElement("div");
    const cell = document.createElement("div");
    cell.append(page, beside);
    document.body.replaceChildren(cell);
    ended = 0;
    presentation = new Presentation(page, () => (ended += 1));
  });

  it("leaves everything as it was", () => {
    const before = document.body.innerHTML;
    presentation.show(true);
    presentation.show(true);
    expect(page.hasAttribute("popover")).toBe(true);
    expect(beside.inert).toBe(true);
    presentation.show(false);
    page.removeAttribute("open");
    expect(beside.inert).toBe(false);
    beside.removeAttribute("inert"); // empty or absent: it was never set before
    expect(document.body.innerHTML.replaceAll(' style=""', "")).toBe(before);
  });

  it("has the focus, not the cell around it, as after a reload", () => {
    const cell = page.parentElement!;
    cell.tabIndex = -1;
    cell.focus();
    presentation.show(true);
    expect(document.activeElement).toBe(page);
    page.querySelector("button")!.focus();
    expect(document.activeElement).toBe(page.querySelector("button"));
    cell.focus();
    expect(document.activeElement).toBe(page);
    presentation.show(false);
    cell.focus();
    expect(document.activeElement).toBe(cell);
  });

  it("ends by Escape, unless that has another meaning where it was pressed", () => {
    const [button, search] = [page.querySelector("button")!, page.querySelector("input")!];
    press(button);
    expect(ended).toBe(0); // not yet shown
    presentation.show(true);
    search.value = "digits";
    press(search);
    press(button, "a");
    expect(ended).toBe(0);
    search.value = "";
    press(search);
    press(button);
    expect(ended).toBe(2);
    page.addEventListener("keydown", (event) => event.preventDefault());
    press(button);
    expect(ended).toBe(2);
    presentation.show(false);
    press(document.body);
    expect(ended).toBe(2);
  });

  it("ends where JupyterLab asks something", async () => {
    const open = document.createElement("div");
    open.className = "jp-Dialog";
    document.body.append(open);
    presentation.show(true);
    expect([ended, page.hasAttribute("popover")]).toEqual([1, false]);
    open.remove();
    ended = 0;
    presentation.show(true);
    document.body.append(document.createElement("div"));
    await Promise.resolve();
    expect(ended).toBe(0);
    const dialog = document.createElement("div");
    dialog.className = "lm-Widget jp-Dialog";
    document.body.append(dialog);
    await Promise.resolve();
    expect(ended).toBe(1);
  });
});
