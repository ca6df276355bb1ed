import { describe, expect, it } from "vitest";
import { Legend } from "../../../src/charts/panel/legend";
import { look } from "../points";

const silent = { onToggle: () => undefined, onHighlight: () => undefined };
const texts = (legend: Legend, name: string) =>
  [...legend.root.querySelectorAll(`.wb-legend-${name}`)].map((each) => each.textContent);

describe("Legend", () => {
  it("shows each curve with its value and its line", () => {
    const legend = new Legend(silent);
    legend.update([look("pytorch"), look("lab", [9, 2])], [], (key) => `${key}!`);
    expect(texts(legend, "name")).toEqual(["pytorch", "lab"]);
    expect(texts(legend, "value")).toEqual(["pytorch!", "lab!"]);
    const dashes = [...legend.root.querySelectorAll("line")].map((line) =>
      line.getAttribute("stroke-dasharray"),
    );
    expect(dashes).toEqual(["", "9 2"]);
  });

  it("changes values alone while the curves stay the same", () => {
    const legend = new Legend(silent);
    legend.update([look("pytorch")], [], () => "1");
    const [item] = legend.root.children;
    legend.update([look("pytorch")], [], () => "2");
    expect(legend.root.children[0]).toBe(item);
    expect(texts(legend, "value")).toEqual(["2"]);
  });

  it("keeps the room of the longest value, so that pointing moves nothing", () => {
    const legend = new Legend(silent);
    const room = () => (legend.root.querySelector(".wb-legend-value") as HTMLElement).style.minWidth;
    for (const value of ["5,323", "110,741", "1,805"]) legend.update([look("pytorch")], [], () => value);
    expect(room()).toBe("7ch");
    legend.update([look("ondevice")], [], () => "1,805");
    expect(room()).toBe("5ch");
  });

  it("keeps that room when the run of a curve is known, so that nothing moves as it begins", () => {
    const legend = new Legend(silent);
    const room = () => (legend.root.querySelector(".wb-legend-value") as HTMLElement).style.minWidth;
    legend.update([look("pytorch")], [], () => "–", () => 12);
    legend.update([{ ...look("pytorch"), detail: "digits-mlp · pytorch · 2026-a" }], [], () => "0.1", () => 6);
    expect(room()).toBe("12ch");
  });

  it("does without the steps of values where they do not fit beside the names", () => {
    const legend = new Legend(silent);
    document.body.append(legend.root);
    const update = () =>
      legend.update([look("pytorch")], [], (_, withStep) => (withStep ? "0.1 at step 7" : "0.1"), (_, withStep) => (withStep ? 30 : 12));
    update();
    expect(texts(legend, "value")).toEqual(["0.1 at step 7"]);
    const item = legend.root.children[0] as HTMLElement;
    const value = item.querySelector(".wb-legend-value") as HTMLElement;
    Object.defineProperty(item, "offsetHeight", { get: () => (value.style.minWidth === "30ch" ? 40 : 20) });
    (item.querySelector("button") as HTMLElement).style.lineHeight = "20px";
    Object.defineProperty(legend.root, "clientWidth", { value: 300 });
    legend.resize();
    update();
    expect(texts(legend, "value")).toEqual(["0.1"]);
    expect([value.style.minWidth, legend.root.style.minHeight]).toEqual(["12ch", ""]);
    legend.root.remove();
  });

  it("keeps that room below where there is none beside the name", () => {
    const legend = new Legend(silent);
    document.body.append(legend.root);
    legend.update([look("pytorch"), look("ondevice")], [], () => "0.1", () => 30);
    const [first, second] = [...legend.root.children] as HTMLElement[];
    const value = (item?: HTMLElement) => (item?.querySelector(".wb-legend-value") as HTMLElement).style.minWidth;
    for (const [item, top, height] of [[first, 0, 40], [second, 40, 20]] as const) {
      Object.defineProperties(item, { offsetTop: { value: top }, offsetHeight: { value: height } });
      (item?.querySelector("button") as HTMLElement).style.lineHeight = "20px";
    }
    Object.defineProperty(legend.root, "clientWidth", { value: 300 });
    legend.resize();
    expect([value(first), value(second)]).toEqual(["", "30ch"]);
    expect(legend.root.style.minHeight).toBe("3lh");
    legend.root.remove();
  });

  it("hides a curve by a click, and points at one by the focus", () => {
    const heard: (string | null)[] = [];
    const legend = new Legend({ onToggle: (key) => heard.push(key), onHighlight: (key) => heard.push(key) });
    legend.update([look("pytorch")], ["pytorch"], () => "1");
    const button = legend.root.querySelector("button") as HTMLButtonElement;
    expect(button.getAttribute("aria-pressed")).toBe("false");
    expect(texts(legend, "value")).toEqual(["hidden"]);
    button.click();
    button.dispatchEvent(new Event("focus"));
    button.dispatchEvent(new Event("blur"));
    expect(heard).toEqual(["pytorch", "pytorch", null]);
  });

  it("shows names as text, never as HTML", () => {
    const legend = new Legend(silent);
    legend.update([look("<img src=x>")], [], () => "<b>1</b>");
    expect(legend.root.querySelector("img, b")).toBeNull();
    expect(texts(legend, "name")).toEqual(["<img src=x>"]);
  });
});
