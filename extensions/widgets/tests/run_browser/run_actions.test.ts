import { describe, expect, it } from "vitest";
import { row } from "./run_rows";
import { render } from "./run_table_page";

describe("what is done with runs of the table", () => {
  it("offers the deleted runs, and brings one back", () => {
    const { model, el } = render([]);
    const trash = el.querySelector<HTMLDetailsElement>(".wb-run-trash") as HTMLDetailsElement;
    expect(trash.hidden).toBe(true);
    model.receive("deleted", [{ id: "x", title: "first try", deleted_at: 1 }, { id: "y", title: "<b>", deleted_at: 2 }]);
    model.receive("deleted_total", 102);
    expect(trash.hidden).toBe(false);
    expect(trash.querySelector("summary")?.textContent).toBe("Deleted runs (102)");
    expect(trash.textContent).toContain("wb.runs(deleted=True) lists 100 more");
    const restore = trash.querySelector<HTMLButtonElement>('[aria-label="Restore first try"]');
    restore?.focus();
    restore?.click();
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "undelete", runs: ["x"], text: "" });
    model.receive("deleted", [{ id: "y", title: "<b>", deleted_at: 2 }]);
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Restore <b>");
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

  it("is given up by Escape or Cancel, with the focus back on what was pressed", () => {
    const { model, el, button } = render([row("a")]);
    document.body.replaceChildren(el);
    model.receive("selected", ["a"]);
    const giveUp = (how: (form: HTMLFormElement) => void) => {
      button("Rename …").focus();
      button("Rename …").click();
      how(el.querySelector("form") as HTMLFormElement);
      expect(document.activeElement).toBe(button("Rename …"));
    };
    giveUp((form) => form.querySelector("input")?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true })));
    giveUp((form) => [...form.querySelectorAll("button")].find((each) => each.textContent === "Cancel")?.click());
  });

  it("deselects the runs that a filter hides, too", () => {
    const { model, el } = render([row("a"), row("b", { model: "digits-cnn" })]);
    const deselect = el.querySelector<HTMLButtonElement>(".wb-run-selection button") as HTMLButtonElement;
    expect(deselect.hidden).toBe(true);
    model.receive("selected", ["a", "b"]);
    model.receive("query", "digits-cnn");
    expect(el.querySelector(".wb-run-selected")?.textContent).toBe("2 selected, 1 not shown");
    deselect.click();
    expect(model.get("selected")).toEqual([]);
    expect(el.querySelector(".wb-run-selected")?.textContent).toBe("Nothing selected");
    expect(deselect.hidden).toBe(true);
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

  it("trains a run that has ended further, to a total that may be refused", () => {
    const { el, model, button } = render([row("a", { steps: 1500, stepWord: "round", status: "completed" }), row("b", { status: "running" })]);
    model.receive("selected", ["b"]);
    expect(button("Train further …").title).toBe("Stop the run before it is trained further.");
    model.receive("selected", ["a"]);
    button("Train further …").click();
    const form = el.querySelector("form") as HTMLFormElement;
    const input = form.querySelector("input") as HTMLInputElement;
    expect(form.querySelector("label")?.textContent).toBe("Total rounds of a (1,500 taken)");
    expect(form.querySelector("button")?.textContent).toBe("Train");
    expect(input.value).toBe("3000");
    input.value = "many";
    form.requestSubmit();
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "train_further", runs: ["a"], text: "many" });
    model.receive("outcome", "busy");
    model.receive("message", "many is not an integer.");
    model.receive("outcome", "error");
    expect([form.hidden, input.value]).toEqual([false, "many"]);
    model.receive("outcome", "busy");
    model.receive("outcome", "done");
    expect(form.hidden).toBe(true);
    expect(button("Export …").getAttribute("aria-disabled")).toBe("false");
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
      model.receive("outcome", "busy");
      model.receive("outcome", "done");
    }
    const cancel = el.querySelector<HTMLButtonElement>(".wb-run-message button:last-child") as HTMLButtonElement;
    expect(cancel.hidden).toBe(true);
    model.receive("cancellable", true);
    expect(cancel.hidden).toBe(false);
    expect(cancel.textContent).toBe("Cancel export"); // beside the Cancel of a form
    cancel.click();
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "cancel", runs: [], text: "" });
  });

  it("keeps the form of an export that is refused, with what was typed and the reason at the field", () => {
    const { el, model, button } = render([row("a")]);
    model.receive("selected", ["a"]);
    button("Export …").click();
    const form = el.querySelector("form") as HTMLFormElement;
    const input = form.querySelector("input") as HTMLInputElement;
    input.value = "/dev/null/a.onnx";
    form.requestSubmit();
    model.receive("outcome", "busy");
    const sent = model.sent.length;
    form.requestSubmit();
    expect(model.sent).toHaveLength(sent);
    model.receive("message", "/dev/null is not a folder.");
    model.receive("outcome", "error");
    expect([form.hidden, input.value, input.getAttribute("aria-invalid")]).toEqual([false, "/dev/null/a.onnx", "true"]);
    expect(document.getElementById(input.getAttribute("aria-describedby") ?? "")?.textContent).toBe("/dev/null is not a folder.");
    expect(el.querySelector(".wb-run-message [role=status]")?.textContent).toBe("");
    input.value = "a.onnx";
    form.requestSubmit();
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "export", runs: ["a"], text: "a.onnx" });
    model.receive("outcome", "busy");
    model.receive("message", "Exported to /here/a.onnx.");
    model.receive("outcome", "done");
    expect(form.hidden).toBe(true);
    expect(el.querySelector(".wb-run-message [role=status]")?.textContent).toBe("Exported to /here/a.onnx.");
  });

  it("starts one export after another, so that none is told the outcome of another", () => {
    const { el, model, button } = render([row("a"), row("b")]);
    const form = el.querySelector("form") as HTMLFormElement;
    model.receive("selected", ["a"]);
    button("Export …").click();
    form.requestSubmit();
    (form.querySelector('[type="button"]') as HTMLButtonElement).click();
    model.receive("selected", ["b"]);
    button("Export …").click();
    expect([form.hidden, button("Export …").getAttribute("aria-disabled")]).toEqual([true, "true"]);
    for (const name of ["Export …", "Delete"]) expect(button(name).title).toContain("An export is in progress.");
    model.receive("cancellable", true);
    model.receive("outcome", "busy");
    button("Export …").click();
    expect(form.hidden).toBe(true);
    model.receive("cancellable", false);
    model.receive("message", "No model was written.");
    model.receive("outcome", "error");
    expect(el.querySelector(".wb-run-message [role=status]")?.textContent).toBe("No model was written.");
    button("Export …").click();
    expect(form.hidden).toBe(false);
    expect(el.querySelector(".wb-run-editor-problem")?.textContent).toBe("");
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
    expect(button("Compare runs").getAttribute("aria-disabled")).toBe("false");
    button("Compare runs").click();
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "compare", runs: ["c", "a", "b"], text: "" });
  });

  it("deletes nothing while one of the selected runs is in progress", () => {
    const { model, press, button } = render([row("a", { status: "running" }), row("b")]);
    press("a", { ctrlKey: true });
    expect(button("Delete 2").title).toBe("Stop the run before it is deleted.");
    model.sent.length = 0;
    press("Delete");
    expect(model.sent).toEqual([]);
  });

  it("refuses what cannot be done, with the reason", () => {
    const { model, button, press } = render([row("a", { status: "running" })]);
    expect(button("Open").title).toBe("Select a run first.");
    press("ArrowDown");
    press(" ");
    expect(button("Delete").title).toBe("Stop the run before it is deleted.");
    expect(button("Compare runs").title).toBe("Select two runs or more.");
    const before = model.sent.length;
    button("Compare runs").click();
    expect(model.sent).toHaveLength(before);
    expect(button("Stop runs").getAttribute("aria-disabled")).toBe("false");
    model.rows([row("a", { status: "unreadable", reason: "Written by a newer workbench." })]);
    expect(button("Open").title).toBe("Written by a newer workbench.");
  });

  it("keeps the focus when the last run is deleted and brought back", () => {
    const { model, grid, button, el } = render([row("a")]);
    grid.focus();
    model.receive("undo", ["a"]);
    model.receive("message", "Deleted 1 run.");
    model.rows([], { removed: ["a"] });
    expect(document.activeElement).toBe(button("Undo"));
    button("Undo").click();
    model.receive("undo", []);
    expect(document.activeElement).toBe(el.querySelector(".wb-run-empty"));
    model.rows([row("a")]);
    expect(document.activeElement).toBe(grid);
  });

  it("offers runs in progress and interrupted ones, and brings deleted ones back", () => {
    const federated = { status: "interrupted", stepWord: "round", steps: 3, totalSteps: 5 };
    const { model, el, button } = render([row("a", federated), row("b", { status: "running" })]);
    const offers = [...el.querySelectorAll(".wb-offer-name")].map((node) => node.textContent);
    expect(offers).toEqual(["b", "a"]);
    const wheres = [...el.querySelectorAll(".wb-offer-where")].map((node) => node.textContent);
    expect(wheres).toEqual(["pytorch, step 100 of 100", "pytorch, round 3 of 5"]);
    model.rows([row("a", { ...federated, model: "net", steps: 0, reason: "Its kernel was restarted." })]);
    const [, begins] = [...el.querySelectorAll(".wb-offer")];
    const again = "pytorch, round 0 of 5. Its kernel was restarted. Open it to train it again with its settings.";
    expect(begins?.querySelector(".wb-offer-where")?.textContent).toBe(again);
    expect([...(begins?.querySelectorAll("button") ?? [])].map((each) => each.textContent)).toEqual(["Open"]);
    model.rows([row("c", { model: "net" })]);
    expect([...el.querySelectorAll(".wb-offer-name")].map((node) => node.textContent)).toEqual(["b"]);
    model.rows([row("a", federated)]);
    const stop = () => [...el.querySelectorAll(".wb-offer button")].find((each) => each.textContent === "Stop") as HTMLElement;
    stop().focus();
    model.rows([row("b", { status: "paused" })]);
    expect(document.activeElement).toBe(stop());
    model.rows([row("b")]);
    expect(document.activeElement?.textContent).toBe("Resume");
    expect(button("Undo").hidden).toBe(true);
    model.receive("undo", ["x"]);
    model.receive("message", "Deleted 1 run.");
    button("Undo").click();
    expect(model.sent.at(-1)).toEqual({ kind: "act", name: "undelete", runs: ["x"], text: "" });
  });
});
