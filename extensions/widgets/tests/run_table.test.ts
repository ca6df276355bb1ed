import { describe, expect, it, vi } from "vitest";
import type { RunRow } from "../src/run_browser/run_row";
import runTable from "../src/run_browser/run_table";
import { row } from "./run_rows";
import { WidgetModel } from "./widget_model";

interface Sent {
  kind: string;
  name?: string;
  runs?: string[];
  text?: string;
}

const TRAITS = {
  query: "",
  sort_by: "started",
  descending: true,
  filters: {} as Record<string, string>,
  selected: [] as string[],
  folder: "/runs",
  bases: [] as string[],
  loading: false,
  problem: "",
  outcome: "done",
  message: "",
  cancellable: false,
  undo: [] as string[],
  deleted: [] as { id: string; title: string; deleted_at: number }[],
};

/** A model that also takes and gives messages. */
class Model extends WidgetModel<typeof TRAITS> {
  override readonly sent: Sent[] = [];
  private onMessage: (message: object, buffers: DataView[]) => void = () => {};

  override send(message: Sent): void {
    this.sent.push(message);
  }

  override on(event: string, listener: () => void): void {
    if (event === "msg:custom") this.onMessage = listener;
    else super.on(event, listener);
  }

  rows(rows: RunRow[], more: object = {}): void {
    const curves = new Float32Array(rows.flatMap((each) => [...each.curve]));
    const sent = rows.map(({ curve, ...each }) => ({ ...each, points: curve.length }));
    this.onMessage({ kind: "rows", full: false, rows: sent, removed: [], ...more }, [new DataView(curves.buffer)]);
  }
}

function render(rows: RunRow[], more: Partial<typeof TRAITS> = {}) {
  const model = new Model({ ...TRAITS, ...more });
  const el = document.createElement("div");
  document.body.replaceChildren(el);
  const { signal } = new AbortController();
  runTable.render({ model, el, signal } as never);
  model.rows(rows, { full: true });
  const grid = el.querySelector<HTMLElement>('[role="grid"]') as HTMLElement;
  const names = () => [...el.querySelectorAll(".wb-run-name")].map((node) => node.textContent);
  const selected = () =>
    [...el.querySelectorAll<HTMLElement>('[aria-selected="true"]')].map((node) => node.dataset["run"]);
  const press = (key: string, more: object = {}) =>
    grid.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
  const button = (name: string) =>
    [...el.querySelectorAll<HTMLButtonElement>(".wb-run-buttons button, .wb-run-message button")].find((each) => each.textContent === name) as HTMLButtonElement;
  return { model, el, grid, names, selected, press, button };
}

describe("the table of runs", () => {
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

  it("calls a run that nobody has named by model, engine and start, with the id at hand", () => {
    const started = new Date(new Date().getFullYear(), 10, 23, 14, 5, 12).getTime() / 1000;
    const { el, names } = render([row("20261123-140512-ab12", { name: "", engine: "ondevice", started })]);
    expect(names()).toEqual(["digits-mlp · ondevice · 23 Nov 14:05:12"]);
    expect(el.querySelector<HTMLElement>(".wb-run-name")?.title).toContain("Id: 20261123-140512-ab12");
    expect(el.querySelector('[data-sort="started"]')?.textContent).toContain("Started");
  });

  it("offers the deleted runs, and brings one back", () => {
    const { model, el } = render([]);
    const trash = el.querySelector<HTMLDetailsElement>(".wb-run-trash") as HTMLDetailsElement;
    expect(trash.hidden).toBe(true);
    model.receive("deleted", [{ id: "x", title: "first try", deleted_at: 1 }, { id: "y", title: "<b>", deleted_at: 2 }]);
    expect(trash.hidden).toBe(false);
    expect(trash.querySelector("summary")?.textContent).toBe("Deleted runs (2)");
    const restore = trash.querySelector<HTMLButtonElement>('[aria-label="Restore first try"]');
    restore?.focus();
    restore?.click();
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "undelete", runs: ["x"], text: "" });
    model.receive("deleted", [{ id: "y", title: "<b>", deleted_at: 2 }]);
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Restore <b>");
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

  it("asks for a name and sends it", () => {
    const { model, el, press } = render([row("a")]);
    press("ArrowDown");
    press("F2");
    const input = el.querySelector<HTMLInputElement>(".wb-run-editor input") as HTMLInputElement;
    input.value = "a name";
    (el.querySelector("form") as HTMLFormElement).requestSubmit();
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "rename", runs: ["a"], text: "a name" });
    expect(el.querySelector("form")?.hidden).toBe(true);
  });

  it("fine-tunes runs of the models that have a base checkpoint, where the page can", () => {
    expect(render([row("a")]).button("Personalise").hidden).toBe(true);
    const { model, button } = render([row("a"), row("b", { model: "sketch-cnn" })], { bases: ["sketch-cnn"] });
    model.receive("selected", ["a"]);
    button("Personalise").click();
    expect(button("Personalise").title).toContain("Only runs of sketch-cnn");
    model.receive("selected", ["b"]);
    button("Personalise").click();
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "personalise", runs: ["b"], text: "" });
  });

  it("exports in each way, which can be cancelled", () => {
    const { el, model, button } = render([row("a")]);
    model.receive("selected", ["a"]);
    for (const [way, name, text] of [
      ["export", "export", "digits-mlp.onnx"],
      ["quantize", "quantize", "digits-mlp.onnx"],
      ["export_unmerged", "export_unmerged", "digits-mlp.onnx"],
      // The suffix says that the adapters are meant.
      ["adapters", "export", "digits-mlp.onnx_adapter"],
    ] as const) {
      button("Export …").click();
      const select = el.querySelector<HTMLSelectElement>(".wb-run-editor select") as HTMLSelectElement;
      select.value = way;
      select.dispatchEvent(new Event("change"));
      expect(el.querySelector<HTMLInputElement>(".wb-run-editor input")?.value).toBe(text);
      (el.querySelector("form") as HTMLFormElement).requestSubmit();
      expect(model.sent.at(-1)).toEqual({ kind: "act", name, runs: ["a"], text });
    }
    const cancel = el.querySelector<HTMLButtonElement>(".wb-run-message button:last-child") as HTMLButtonElement;
    expect(cancel.hidden).toBe(true);
    model.receive("cancellable", true);
    expect(cancel.hidden).toBe(false);
    cancel.click();
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "cancel", runs: [], text: "" });
  });

  it("changes the tags that several runs share, and leaves the others", () => {
    const { model, el, press, button } = render([row("a", { started: 2, tags: ["x", "both"] }), row("b", { tags: ["both", "y"] })]);
    const saved = (text: string) => {
      button("Tags …").click();
      const input = el.querySelector<HTMLInputElement>(".wb-run-editor input") as HTMLInputElement;
      const before = input.value;
      input.value = text;
      model.sent.length = 0;
      (el.querySelector("form") as HTMLFormElement).requestSubmit();
      return before;
    };
    press("a", { ctrlKey: true });
    expect(saved("both")).toBe("both");
    expect(model.sent).toEqual([]);
    saved("new, z");
    const runs = ["a", "b"];
    expect(model.sent).toEqual([
      { kind: "act", name: "add_tags", runs, text: "new, z" },
      { kind: "act", name: "remove_tags", runs, text: "both" },
    ]);
  });

  it("changes no run that a filter hides, and says that there is one", () => {
    const { model, el, press, button } = render([row("a", { started: 3 }), row("b", { started: 2, name: "other" }), row("c", { name: "other too" })]);
    press("a", { ctrlKey: true });
    model.receive("query", "other");
    expect(el.querySelector(".wb-run-selected")?.textContent).toBe("3 selected, 1 not shown");
    press("Delete");
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "delete", runs: ["b", "c"], text: "" });
    model.receive("query", "too");
    expect(button("Compare").getAttribute("aria-disabled")).toBe("false");
    button("Compare").click();
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "compare", runs: ["c", "a", "b"], text: "" });
  });

  it("deletes nothing while one of the selected runs is in progress", () => {
    const { model, press, button } = render([row("a", { status: "running" }), row("b")]);
    press("a", { ctrlKey: true });
    expect(button("Delete").title).toBe("Stop the run before it is deleted.");
    model.sent.length = 0;
    press("Delete");
    expect(model.sent).toEqual([]);
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

  it("refuses what cannot be done, with the reason", () => {
    const { model, button, press } = render([row("a", { status: "running" })]);
    expect(button("Open").title).toBe("Select a run first.");
    press("ArrowDown");
    press(" ");
    expect(button("Delete").title).toBe("Stop the run before it is deleted.");
    expect(button("Compare").title).toBe("Select two runs or more.");
    const before = model.sent.length;
    button("Compare").click();
    expect(model.sent).toHaveLength(before);
    expect(button("Stop").getAttribute("aria-disabled")).toBe("false");
  });

  it("offers runs in progress and interrupted ones, and brings deleted ones back", () => {
    const federated = { status: "interrupted", stepWord: "round", steps: 3, totalSteps: 5 };
    const { model, el, button } = render([row("a", federated), row("b", { status: "running" })]);
    const offers = [...el.querySelectorAll(".wb-offer-name")].map((node) => node.textContent);
    expect(offers).toEqual(["b", "a"]);
    const wheres = [...el.querySelectorAll(".wb-offer-where")].map((node) => node.textContent);
    expect(wheres).toEqual(["pytorch, step 100 of 100", "pytorch, round 3 of 5"]);
    expect(button("Undo").hidden).toBe(true);
    model.receive("undo", ["x"]);
    model.receive("message", "Deleted 1 run.");
    button("Undo").click();
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "undelete", runs: ["x"], text: "" });
  });

  it("sorts by a column and back, and tells the kernel", () => {
    const { model, el, names } = render([row("a", { lastLoss: 1 }), row("b", { lastLoss: 2 })]);
    const press = () => el.querySelector<HTMLElement>('[data-sort="lastLoss"]')?.click();
    press();
    expect(names()).toEqual(["b", "a"]);
    press();
    expect(names()).toEqual(["a", "b"]);
    expect([model.get("sort_by"), model.get("descending")]).toEqual(["lastLoss", false]);
    expect(el.querySelector('[aria-sort="ascending"]')?.textContent).toContain("Last loss");
  });

  it("says that nothing matches, and why the folder cannot be read", () => {
    const { model, el } = render([row("a")]);
    model.receive("query", "nothing like it");
    expect(el.textContent).toContain("No run matches");
    model.receive("problem", "The folder cannot be read.");
    expect(el.querySelector('[role="alert"]')?.textContent).toBe("The folder cannot be read.");
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
      const { el, model, names } = render([row("a", { name: "first" })]);
      const width = vi.spyOn(el, "clientWidth", "get").mockReturnValue(0);
      resized();
      model.rows([row("b", { name: "second" })]);
      expect(names()).toEqual(["first"]);
      width.mockReturnValue(800);
      resized();
      expect(names().sort()).toEqual(["first", "second"]);
    } finally {
      vi.unstubAllGlobals();
    }
  });
});
