import { describe, expect, it } from "vitest";
import view from "../../src/artifacts/footprint_view";
import { show } from "../widget_model";

const nothing = { parts: [], unknown: [], summary: "", doing: "", problem: "", outdated: false };
const lines = (el: Element) => [...el.querySelectorAll("li")].map((one) => one.textContent);

describe("the predicted memory", () => {
  it("says what is known and what is not known yet", () => {
    const { el } = show(view, {
      ...nothing,
      parts: [{ name: "Parameters", bytes: 68904 }],
      unknown: ["Activations"],
      summary: "17,226 elements are trained.",
    });
    expect(lines(el)).toEqual(["Parameters68.9\u00a0kB", "Activationsnot known yet?"]);
    expect(el.textContent).toContain("17,226 elements are trained.");
  });

  it("says what it will show where nothing is known", () => {
    expect(show(view, nothing).el.querySelector(".wb-hint")?.textContent).toContain("The memory of training the chosen model");
  });
});
