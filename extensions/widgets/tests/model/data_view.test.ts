import { describe, expect, it } from "vitest";
import view from "../../src/model/data_view";
import { show } from "../widget_model";

const nothing = {
  hint: "",
  problem: "",
  title: "digits",
  facts: [],
  counts: [],
  pictures: [],
  texts: [],
  columns: [],
  rows: [],
  ranges: [],
};
const texts = (el: Element, selector: string) =>
  [...el.querySelectorAll(selector)].map((one) => one.textContent);

describe("the data", () => {
  it("is text with its class, or with what each position is to be", () => {
    const shown = [
      { text: "import sys", label: "code", target: "" },
      { text: "ab", label: "", target: "bc" },
    ];
    const { el } = show(view, { ...nothing, texts: shown });
    expect(texts(el, "li")).toEqual(["codeimport sys", "abtargetbc"]);
  });

  it("is a table with the range of each column", () => {
    const table = { columns: ["0", "target"], rows: [["1.5", "cat"]], ranges: ["0 to 2", ""] };
    const { el } = show(view, { ...nothing, ...table });
    expect(texts(el, "tbody td")).toEqual(["1.5", "cat"]);
    expect(texts(el, "tfoot td")).toEqual(["0 to 2", ""]);
  });

  it("says above its rows why the model cannot be trained on it", () => {
    const table = { columns: ["0"], rows: [["1.5"]], ranges: ["0 to 2"] };
    const { el } = show(view, { ...nothing, ...table, problem: "It does not fit." });
    expect(el.querySelector('[role="alert"]')?.textContent).toBe("It does not fit.");
    expect(texts(el, "tbody td")).toEqual(["1.5"]);
  });

  it("is pictures, which are described even without a class", () => {
    const { el } = show(view, { ...nothing, pictures: [{ png: "AAAA", label: "" }] });
    expect(el.querySelector("img")?.alt).toBe("A row");
  });
});
