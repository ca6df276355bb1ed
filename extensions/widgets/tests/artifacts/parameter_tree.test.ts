import { describe, expect, it } from "vitest";
import parameterTree from "../../src/artifacts/parameter_tree";
import { show } from "../widget_model";

const names = ["body.0.weight", "body.0.bias", "head.weight", "head.bias"];

function render(patterns: string[] = [], adapters = false) {
  const parameters = names.map((name) => ({ name, shape: "2 × 2", count: 4 }));
  return show(parameterTree, { parameters, patterns, adapters, problem: "", hint: "" });
}

describe("the tree of parameters", () => {
  it("keeps the focus on what folds and unfolds", () => {
    const { el } = render();
    const fold = () => el.querySelector(".wb-fold") as HTMLButtonElement;
    fold().focus();
    for (const name of ["Unfold body.0", "Fold body.0"]) {
      fold().click();
      expect([fold().getAttribute("aria-label"), document.activeElement]).toEqual([name, fold()]);
    }
  });

  it("trains nothing beside LoRA's adapters until a parameter is chosen", () => {
    const { el, model } = render([], true);
    const boxes = () => [...el.querySelectorAll<HTMLInputElement>("input[type=checkbox]")];
    expect(boxes().some((box) => box.checked || box.indeterminate)).toBe(false);
    expect(el.querySelector(".wb-tree-sum")?.textContent).toBe(
      "LoRA's adapters are trained, and beside them 0 of 4 parameters, 0 of 16 elements.",
    );
    const choose = (index: number) => {
      boxes()[index]!.checked = true;
      boxes()[index]!.dispatchEvent(new Event("change"));
      return model.sent.at(-1);
    };
    expect(choose(0)).toEqual({ kind: "patterns", patterns: ["body.0.*"] });
    const button = (text: string) => [...el.querySelectorAll("button")].find((each) => each.textContent === text)!;
    button("Train these").click();
    expect(model.sent.at(-1)).toEqual({ kind: "patterns", patterns: ["*"] });
    model.receive("patterns", ["*"]);
    button("Freeze these").click();
    expect(model.sent.at(-1)).toEqual({ kind: "patterns", patterns: [] });
  });

  it("takes brackets that are no range as Python does", () => {
    const { el } = render(["[z-a]", "head.*"]);
    expect(el.querySelector(".wb-tree-sum")?.textContent).toContain("2 of 4 parameters are trained");
    const search = el.querySelector("input") as HTMLInputElement;
    search.value = "[z-a]";
    search.dispatchEvent(new Event("input"));
    expect(el.querySelectorAll("[role=treeitem]").length).toBe(0);
  });

  it("says that nothing matches, and then has nothing to train or freeze", () => {
    const { el } = render();
    const search = el.querySelector("input") as HTMLInputElement;
    const state = (text: string) => {
      search.value = text;
      search.dispatchEvent(new Event("input"));
      const buttons = [...el.querySelectorAll<HTMLButtonElement>("button.wb-toggle")];
      const said = [...el.querySelectorAll<HTMLElement>("p.wb-hint")].filter(({ hidden }) => !hidden);
      return [said.map(({ textContent }) => textContent).join(), ...buttons.map(({ disabled }) => disabled)];
    };
    expect(state("*.gamma")).toEqual(["No parameter matches *.gamma.", true, true]);
    expect(state("q".repeat(9999))[0]).toBe(`No parameter matches ${"q".repeat(40)}….`);
    expect(state("head")).toEqual(["", false, false]);
    expect(state("")).toEqual(["", false, false]);
  });
});
