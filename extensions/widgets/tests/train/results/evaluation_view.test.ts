import { describe, expect, it } from "vitest";
import view from "../../../src/train/results/evaluation_view";
import { show } from "../../widget_model";

const evaluation = (confusion: number[][]) => ({
  engine: "pytorch",
  when: "after step 20, epoch 1",
  metrics: [["Accuracy", "91.2 %"]],
  confusion,
});

function render(confusion: number[][], classes: string[]) {
  const shown = show(view, { evaluations: [evaluation(confusion)], classes });
  open(shown.el, true);
  return shown;
}

function open(el: Element, opened: boolean) {
  const details = el.querySelector("details") as HTMLDetailsElement;
  details.open = opened;
  details.dispatchEvent(new Event("toggle"));
}

const texts = (el: Element, selector: string) =>
  [...el.querySelectorAll(selector)].map((one) => one.textContent);

describe("the evaluation", () => {
  it("names classes in the heads of the matrix and beside their accuracy", () => {
    const { el } = render([[5, 1], [2, 6]], ["cat", "giraffe"]);
    expect(texts(el, "thead th")).toEqual(["cat", "giraffe"]);
    expect(texts(el, "tbody th")).toEqual(["cat", "giraffe"]);
    expect(el.querySelector("table")?.classList.contains("wb-upright")).toBe(false);
    const { el: many } = render([[5, 1, 0], [2, 6, 0], [0, 0, 3]], ["a long name of a class", "another long name", "giraffe"]);
    expect(many.querySelector("table")?.classList.contains("wb-upright")).toBe(true);
    expect(texts(el, ".wb-class")).toEqual(["cat", "giraffe"]);
    expect(texts(el, ".wb-class-scores small")).toEqual(["5 of 6", "6 of 8"]);
    expect(el.querySelector("td[title]")?.getAttribute("title")).toBe("cat predicted as cat: 5");
  });

  it("shows numbers where classes have no names, and leaves unused outputs out", () => {
    const { el } = render([[5, 1, 0], [2, 6, 0], [0, 0, 0]], []);
    expect(texts(el, "thead th")).toEqual(["0", "1"]);
    expect(el.querySelector("table")?.classList.contains("wb-upright")).toBe(false);
  });

  it("lists mistakes in place of a matrix that nobody could read", () => {
    const many = Array.from({ length: 40 }, (_, at) =>
      Array.from({ length: 40 }, (_, to) => (at === to ? 9 : at === 3 && to === 5 ? 4 : 0)),
    );
    const { el } = render(many, []);
    expect(el.querySelector("table")).toBeNull();
    expect(texts(el, ".wb-mistakes li")).toEqual(["3 → 5 4"]);
    expect(el.querySelectorAll(".wb-class-scores li").length).toBe(40);
  });

  it("stays unfolded when the next evaluation comes", () => {
    const { el, model } = render([[5, 1], [2, 6]], []);
    const details = el.querySelector("details") as HTMLDetailsElement;
    details.querySelector("summary")?.focus();
    model.receive("evaluations", [evaluation([[6, 0], [1, 7]])]);
    expect(el.querySelector("details")?.open).toBe(true);
    expect(document.activeElement).toBe(el.querySelector("summary"));
    expect(texts(el, ".wb-class-scores small")).toEqual(["6 of 6", "7 of 8"]);
  });

  it("makes nothing anew that is folded, until it is unfolded", () => {
    const { el, model } = render([[5, 1], [2, 6]], []);
    open(el, false);
    const table = el.querySelector("table");
    model.receive("evaluations", [evaluation([[6, 0], [1, 7]])]);
    expect(el.querySelector("table")).toBe(table);
    open(el, true);
    expect(texts(el, ".wb-class-scores small")).toEqual(["6 of 6", "7 of 8"]);
  });

  it("has no classes to show of a regression, and nothing before an evaluation", () => {
    const { el, model } = render([], []);
    expect(el.querySelector("details")?.hidden).toBe(true);
    expect(texts(el, "dd")).toEqual(["91.2\u00a0%"]);
    model.receive("evaluations", []);
    expect((el as HTMLElement).hidden).toBe(true);
    expect(texts(el, "dd")).toEqual([]);
  });
});
