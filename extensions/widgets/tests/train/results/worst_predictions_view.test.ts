import { describe, expect, it } from "vitest";
import view from "../../../src/train/results/worst_predictions_view";
import { show } from "../../widget_model";

const row = (more: object) => ({
  row: 1204,
  loss: "3.21",
  target: "cat",
  prediction: "dog (97 %)",
  picture: "",
  target_picture: "",
  predicted_picture: "",
  text: "",
  target_symbols: [],
  predicted_symbols: [],
  cells: [],
  columns: [],
  ...more,
});
const engine = (name: string, rows: object[], problem = "") => ({ engine: name, problem, rows });
const render = (...engines: object[]) => show(view, { engines });
const texts = (el: Element, selector: string) =>
  [...el.querySelectorAll(selector)].map((one) => one.textContent);

describe("the worst predictions", () => {
  it("are hidden while there are none", () => {
    const { el, model } = render();
    expect(el.hidden).toBe(true);
    model.receive("engines", [engine("a", [row({ picture: "AAAA" })])]);
    expect(el.hidden).toBe(false);
  });

  it("are pictures with target, prediction and loss", () => {
    const { el } = render(engine("a", [row({ picture: "AAAA" })]));
    expect(el.querySelector("img")?.getAttribute("src")).toBe("data:image/png;base64,AAAA");
    expect(texts(el, "li > span")).toEqual(["is cat", "predicted dog (97 %)", "loss 3.21"]);
  });

  it("are not marked as wrong where the class is right", () => {
    const rows = [row({}), row({ target: "dog" }), row({ target: "do" })];
    const { el } = render(engine("a", rows.map((one) => ({ ...one, picture: "AAAA" }))));
    const marked = [...el.querySelectorAll("li")].map((item) => item.querySelector(".wb-wrong") !== null);
    expect(marked).toEqual([true, false, true]);
  });

  it("show target and prediction side by side where both are pictures", () => {
    const shown = row({ target: "", prediction: "", picture: "AAAA", target_picture: "BBBB", predicted_picture: "CCCC" });
    const { el } = render(engine("a", [shown]));
    expect(texts(el, "figcaption")).toEqual(["target", "predicted"]);
    expect(texts(el, "li > span")).toEqual(["loss 3.21"]);
  });

  it("mark what is wrong in a text and nothing that has no target", () => {
    const text = { target: "", prediction: "", text: "hxllx", target_symbols: [..."·e··o"], predicted_symbols: [..."zezza"] };
    const { el } = render(engine("a", [row(text)]));
    expect(texts(el, "dt")).toEqual(["input", "target", "predicted"]);
    expect(texts(el, "dd")).toEqual(["hxllx", "·e··o", "·e··a"]);
    expect(texts(el, "mark")).toEqual(["a"]);
    expect(el.querySelector("mark")?.title).toBe("o is right");
  });

  it("are a table where rows are neither", () => {
    const { el } = render(engine("a", [row({ cells: ["1.5", "…"] })]));
    expect(texts(el, "th")).toEqual(["Row", "Loss", "Target", "Predicted", "value 0", "…"]);
    expect(texts(el, "td")).toEqual(["1,204", "3.21", "cat", "dog (97 %)", "1.5", "…"]);
  });

  it("have the names of the columns of a file", () => {
    const { el } = render(engine("a", [row({ cells: ["3", "70"], columns: ["rooms", "area"] })]));
    expect(texts(el, "th").slice(4)).toEqual(["rooms", "area"]);
  });

  it("are those of the engine that is chosen, which stays so", () => {
    const two = [engine("a", [row({ cells: ["1"] })]), engine("b", [row({ cells: ["2"] })])];
    const { el, model } = render(...two);
    const choice = el.querySelector("select") as HTMLSelectElement;
    choice.value = "b";
    choice.dispatchEvent(new Event("change"));
    expect(texts(el, "td").at(-1)).toBe("2");
    model.receive("engines", [...two]);
    expect(texts(el, "td").at(-1)).toBe("2");
    model.receive("engines", [two[0] as object]);
    expect(texts(el, "td").at(-1)).toBe("1");
    expect((choice.parentElement as HTMLElement).hidden).toBe(true);
  });

  it("say why they cannot be shown", () => {
    const { el } = render(engine("a", [], "The data is gone."));
    expect(texts(el, ".wb-problem")).toEqual(["The rows cannot be shown: The data is gone."]);
  });
});
