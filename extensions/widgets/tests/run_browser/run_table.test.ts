import { describe, expect, it, vi } from "vitest";
import { row } from "./run_rows";
import { render } from "./run_table_page";

describe("the table of runs", () => {
  it("keeps a filter that was there, so that no button moves under the pointer", () => {
    const { el, model } = render([row("a")]);
    const filter = el.querySelector<HTMLSelectElement>('[aria-label="Filter by tag"]')!;
    expect(filter.hidden).toBe(true);
    model.rows([row("b", { tags: ["mine"] })]);
    expect(filter.hidden).toBe(false);
    model.rows([], { removed: ["b"] });
    expect([filter.hidden, filter.options.length]).toEqual([false, 1]);
  });

  it("asks for all rows, and says what to do while there are none", () => {
    const { model, el } = render([]);
    expect(model.sent).toEqual([{ kind: "sync" }]);
    expect(el.textContent).toContain("No runs yet.");
    expect(el.textContent).toContain("/runs");
  });

  it("shows text as text, whatever is in it", () => {
    const { el, names } = render([row("a", { name: "<img src=x onerror=alert(1)>", tags: ["<b>"] })]);
    expect(names()).toEqual(["<img src=x onerror=alert(1)>"]);
    expect(el.querySelector("img, b")).toBeNull();
  });

  it("says of a run that diverged that its last loss is not finite", () => {
    const { el } = render([
      row("a", { started: 2, lastLoss: null, steps: 2 }),
      row("b", { started: 1, lastLoss: null, steps: 0 }),
    ]);
    const cells = [...el.querySelectorAll(".wb-run-row")].map((each) => each.textContent);
    expect(cells.map((text) => text?.includes("not finite"))).toEqual([true, false]);
  });

  it("folds filters and order where the list is narrow, until they are asked for", () => {
    const { el } = render([row("a")]);
    const unfold = el.querySelector(".wb-run-unfold") as HTMLButtonElement;
    const unfolded = () => el.querySelector(".wb-run-toolbar")?.classList.contains("wb-unfolded");
    expect([unfold.getAttribute("aria-expanded"), unfolded()]).toEqual(["false", false]);
    unfold.click();
    expect([unfold.getAttribute("aria-expanded"), unfolded()]).toEqual(["true", true]);
  });

  it("keeps selection and order when a run arrives or changes", () => {
    const { model, names, selected, press } = render([row("a", { started: 1 }), row("b", { started: 2 })]);
    expect(names()).toEqual(["b", "a"]);
    press("ArrowDown");
    press("ArrowDown");
    press(" ");
    expect(selected()).toEqual(["a"]);
    model.rows([row("c", { started: 3 }), row("a", { name: "renamed" })]);
    expect(names()).toEqual(["c", "b", "renamed"]);
    expect(selected()).toEqual(["a"]);
    expect(model.get("selected")).toEqual(["a"]);
  });

  it("counts runs that have come above what is in view, but none that is brought back", () => {
    const rows = Array.from({ length: 40 }, (_, index) => row(`r${index}`, { started: 100 - index }));
    const { model, el, grid } = render(rows);
    const newer = el.querySelector<HTMLElement>(".wb-run-newer") as HTMLElement;
    grid.scrollTop = 1000;
    model.rows([], { removed: ["r0"] });
    model.rows([rows[0]!]);
    expect(newer.hidden).toBe(true);
    model.rows([row("later", { started: 200 })]);
    expect(newer.textContent).toBe("↑ 1 new run");
  });

  it("scrolls to a run that is brought back here, and to no other", () => {
    const rows = Array.from({ length: 40 }, (_, index) => row(`r${index}`, { started: 100 - index }));
    const { model, grid, button } = render(rows);
    Object.defineProperty(grid, "clientHeight", { value: 34 + 10 * 52 });
    model.rows([], { removed: ["r30", "r35"] });
    model.receive("undo", ["r30"]);
    model.rows([rows[35]!]);
    expect(grid.scrollTop).toBe(0);
    const focused = vi.spyOn(grid, "focus");
    button("Undo").click();
    expect(focused, "the buttons stay in view").toHaveBeenCalledWith({ preventScroll: true });
    model.rows([rows[30]!]);
    expect(grid.scrollTop).toBe(21 * 52);
    grid.scrollTop = 0;
    model.rows([row("later", { started: 1 })]);
    expect(grid.scrollTop).toBe(0);
  });

  it("calls a run that nobody has named by model, engine and start, with the id at hand", () => {
    const started = new Date(new Date().getFullYear(), 10, 23, 14, 5, 12).getTime() / 1000;
    const { el, names } = render([row("20261123-140512-ab12", { name: "", engine: "ondevice", started })]);
    expect(names()).toEqual(["digits-mlp · ondevice"]);
    expect(el.querySelector(".wb-run-under")?.textContent).toBe("digits");
    const title = "digits-mlp · ondevice · 23 Nov 14:05:12";
    expect(el.querySelector<HTMLElement>(".wb-run-name")?.title).toBe(`${title}\nId: 20261123-140512-ab12`);
    expect(el.querySelector(`[role="row"][aria-label="${title}"]`)).not.toBeNull();
    expect(el.querySelector('[data-sort="started"]')?.textContent).toContain("Started");
  });

  it("is used by the keyboard alone", () => {
    const { model, grid, selected, press } = render([row("a", { started: 3 }), row("b", { started: 2 }), row("c")]);
    press("Home");
    press("ArrowDown", { shiftKey: true });
    expect(selected()).toEqual(["a", "b"]);
    const active = document.getElementById(grid.getAttribute("aria-activedescendant") ?? "");
    expect(active?.dataset["run"]).toBe("b");
    press("Enter");
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "open", runs: ["b"], text: "" });
    press("a", { ctrlKey: true });
    expect(selected()).toEqual(["a", "b", "c"]);
    press("Delete");
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "delete", runs: ["a", "b", "c"], text: "" });
    press("Escape");
    expect(selected()).toEqual([]);
  });

  it("opens the run that both clicks of a double click meet, not one that comes under the second", () => {
    const { model, el, selected } = render([row("a")]);
    const click = (type: string, detail: number) =>
      el.querySelector(".wb-run-row")!.dispatchEvent(new MouseEvent(type, { detail, bubbles: true }));
    const opened = () => model.sent.filter(({ name }) => name === "open").length;
    click("click", 2);
    click("dblclick", 2);
    expect([selected(), opened()]).toEqual([[], 0]);
    for (const detail of [1, 2]) click("click", detail);
    click("dblclick", 2);
    expect([selected(), opened()]).toEqual([["a"], 1]);
  });

  it("tells the selection once for a key", () => {
    const { model, press } = render([row("a")]);
    press("ArrowDown");
    const told: unknown[] = [];
    model.on("change:selected", () => told.push(model.get("selected")));
    press("Delete");
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "delete", runs: ["a"], text: "" });
    expect(told.length).toBeLessThan(2);
  });

  it("sorts by a column and back, and tells the kernel", () => {
    const { model, el, names } = render([row("a", { lastLoss: 1 }), row("b", { lastLoss: 2 })]);
    const press = () => el.querySelector<HTMLElement>('[data-sort="lastLoss"]')?.click();
    press();
    expect(names()).toEqual(["a", "b"]); // the lowest loss first
    expect(el.querySelector('[aria-sort="ascending"]')?.textContent).toContain("Last loss");
    press();
    expect(names()).toEqual(["b", "a"]);
    expect([model.get("sort_by"), model.get("descending")]).toEqual(["lastLoss", true]);
    expect(el.querySelector('[aria-sort="descending"]')?.textContent).toContain("Last loss");
  });

  it("says that nothing matches, and why the folder cannot be read", () => {
    const { model, el } = render([row("a")]);
    model.receive("query", "nothing like it");
    expect(el.textContent).toContain("No run matches");
    model.receive("problem", "The folder cannot be read.");
    expect(el.querySelector('[role="alert"]')?.textContent).toBe("The folder cannot be read.");
  });

  it("draws all that it has room for, before it has been laid out too", () => {
    const { names } = render(Array.from({ length: 10 }, (_, index) => row(`run-${index}`)));
    expect(names()).toHaveLength(10);
  });

  it("draws only some of many rows", () => {
    const { el, grid } = render(Array.from({ length: 10_000 }, (_, index) => row(`run-${index}`)));
    expect(grid.getAttribute("aria-rowcount")).toBe("10001");
    expect(el.querySelectorAll(".wb-run-row").length).toBeLessThan(60);
  });
});

describe("a hidden table of runs", () => {
  it("lays out nothing until it is shown, and then all that has changed", () => {
    let resized = () => {};
    vi.stubGlobal(
      "ResizeObserver",
      class {
        constructor(listener: () => void) {
          resized = listener;
        }
        observe() {}
        disconnect() {}
      },
    );
    try {
      const { el, grid, model, names } = render([row("a", { name: "first" })]);
      model.receive("selected", ["a"]); // a list that is looked at would keep its place
      model.receive("message", "Renamed 1 run.");
      const width = vi.spyOn(el, "clientWidth", "get").mockReturnValue(0);
      resized();
      model.rows([row("b", { name: "second" })]);
      expect(names()).toEqual(["first"]);
      width.mockReturnValue(800);
      resized();
      expect(names().sort()).toEqual(["first", "second"]);
      expect(grid.scrollTop, "with what is new").toBe(0);
      expect(el.querySelector(".wb-run-message")?.textContent, "of what was done before").not.toContain("Renamed");
    } finally {
      vi.unstubAllGlobals();
    }
  });
});
