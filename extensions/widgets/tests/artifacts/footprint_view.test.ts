import { describe, expect, it } from "vitest";
import view from "../../src/artifacts/footprint_view";
import { show } from "../widget_model";

const nothing = { parts: [] as { name: string; bytes: number }[], summary: "", doing: "", problem: "", outdated: false };
const lines = (el: Element) => [...el.querySelectorAll("li")].map((one) => one.textContent);

const shares = (el: Element) =>
  [...el.querySelectorAll<HTMLElement>(".wb-part-bar")].map((bar) => bar.style.getPropertyValue("--wb-share"));

describe("the predicted memory", () => {
  it("says what is known and what is not known yet", () => {
    const { el } = show(view, {
      ...nothing,
      parts: [
        { name: "Parameters", bytes: 68904 },
        { name: "Activations", bytes: -1 },
        { name: "ONNX Runtime", bytes: 100_000 },
      ],
      summary: "17,226 elements are trained.",
    });
    expect(lines(el)).toEqual([
      "Parameters68.9\u00a0kB",
      "Activationsnot known yet?",
      "ONNX Runtime100\u00a0kB",
    ]);
    expect(shares(el)).toEqual(["0.68904", "1"]);
    expect(el.querySelector(".wb-broken")).toBeNull();
    expect(el.textContent).toContain("17,226 elements are trained.");
  });

  it("shortens a part that is far larger than all others, which could not be told apart", () => {
    const parts = [10, 70, 31_000].map((bytes, at) => ({ name: `part ${at}`, bytes }));
    const { el } = show(view, { ...nothing, parts });
    expect(shares(el).map((share) => Number(share).toFixed(2))).toEqual(["0.10", "0.70", "1.00"]);
    expect(el.querySelectorAll(".wb-broken")).toHaveLength(1);
  });

  it("says that it is of other settings, unless it is being made anew", () => {
    const parts = [{ name: "Parameters", bytes: 68904 }];
    const { el, model } = show(view, { ...nothing, parts, outdated: true });
    const doing = el.querySelector(".wb-doing") as HTMLElement;
    expect(doing.textContent).toBe("Outdated: settings have changed since.");
    model.receive("doing", "exporting");
    expect(doing.textContent).toBe("exporting …");
    model.receive("doing", "");
    model.receive("outdated", false);
    expect(doing.hidden).toBe(true);
  });

  it("says what it will show where nothing is known", () => {
    expect(show(view, nothing).el.querySelector(".wb-hint")?.textContent).toContain("The memory of training the chosen model");
  });
});
