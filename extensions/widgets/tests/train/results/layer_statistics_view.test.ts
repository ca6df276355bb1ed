import { describe, expect, it } from "vitest";
import { extent, limits, share } from "../../../src/train/results/layer_heat";
import view, { seriesOf } from "../../../src/train/results/layer_statistics_view";
import { show } from "../../widget_model";

const engine = (name: string, numbers: number[], steps: number[]) => ({
  engine: name,
  layers: ["conv1", "output"],
  steps,
  values: new DataView(new Float32Array(numbers).buffer),
});
// Two layers and two steps: gradient norms, then ratios.
const one = engine("one", [1, 2, 30, 40, 0.001, 0.002, NaN, 0.00004], [10, 20]);
const texts = (el: Element, selector: string) =>
  [...el.querySelectorAll(selector)].map((each) => each.textContent);

describe("a measure of layers", () => {
  it("is a row of values by layer, one measure after the other", () => {
    expect([...seriesOf(one, 0).values]).toEqual([1, 2, 30, 40]);
    expect(seriesOf(one, 1).values[1]).toBeCloseTo(0.002);
  });

  it("reads values that begin within a larger buffer", () => {
    const buffer = new Float32Array([9, 9, 1, 2, 30, 40, 5, 6, 7, 8]).buffer;
    expect([...seriesOf({ ...one, values: new DataView(buffer, 8) }, 1).values]).toEqual([5, 6, 7, 8]);
  });

  it("is shaded by its logarithm between the least and the most positive value", () => {
    const values = new Float32Array([0, 1e-4, NaN, Infinity, 1]);
    const range = extent({ layers: 1, steps: 5, values });
    expect(range?.map((value) => Number(value.toPrecision(3)))).toEqual([1e-4, 1]);
    expect(share(1e-2, [1e-4, 1])).toBeCloseTo(0.5);
    expect(share(0, [1e-4, 1])).toBe(0);
    expect(share(5, [1e-4, 1])).toBe(1);
    expect(share(3, [3, 3])).toBe(1);
    expect(share(NaN, [1e-4, 1])).toBeNaN();
    expect(extent({ layers: 1, steps: 1, values: new Float32Array([0]) })).toBeNull();
    expect(limits(new Float32Array([2, 0, NaN, Infinity])), "as told, with zeros").toEqual([0, 2]);
    expect(limits(new Float32Array([NaN]))).toBeNull();
    expect(limits(new Float32Array(300_000)), "of a long run").toEqual([0, 0]);
  });
});

describe("the statistics of layers", () => {
  it("can be asked for, before and after a run", () => {
    const { el, model } = show(view, { engines: [] as (typeof one)[], every: 0 });
    const note = () => el.querySelector(".wb-note")?.textContent;
    const record = el.querySelector<HTMLButtonElement>(".wb-layer-record")!;
    expect(note()).toBe("Gradient norm and update-to-weight ratio of each layer are not recorded.");
    expect(el.querySelector<HTMLElement>(".wb-scroll")?.hidden).toBe(true);
    record.click();
    expect(model.sent).toEqual([{ kind: "record", on: true }]);
    model.set("every", 10);
    expect(note()).toContain("are recorded every 10 steps of the runs that start with this setting.");
    expect(record.getAttribute("aria-pressed")).toBe("true");
    model.set("engines", [one]);
    record.click();
    expect(model.sent.at(-1)).toEqual({ kind: "record", on: false });
  });

  it("say the last value and the span of each layer, and switch to the other measure", () => {
    const { el } = show(view, { engines: [one], every: 10 });
    expect(texts(el, "tbody th")).toEqual(["conv1", "output"]);
    expect(texts(el, "tbody td")).toEqual(["2.00", "1.00 to 2.00", "", "40.0", "30.0 to 40.0", ""]);
    expect(texts(el, "thead th").at(-1)).toBe("Steps 10 to 20");
    const [, ratio] = el.querySelectorAll("button");
    ratio?.click();
    expect(ratio?.getAttribute("aria-pressed")).toBe("true");
    expect(texts(el, "tbody td")[3]).toBe("4.00e-05");
  });

  it("say the value under the pointer, however large the page is shown", () => {
    const { el } = show(view, { engines: [one], every: 10 });
    const canvas = el.querySelectorAll("canvas")[1] as HTMLCanvasElement;
    for (const width of [200, 260]) {
      canvas.getBoundingClientRect = () => ({ left: 100, width }) as DOMRect;
      for (const [share, text] of [[0.45, "output, step 10: 30.0"], [0.55, "output, step 20: 40.0"]] as const) {
        canvas.dispatchEvent(new MouseEvent("pointermove", { clientX: 100 + share * width }));
        expect(el.querySelector(".wb-pointed")?.textContent).toBe(text);
      }
    }
  });

  it("are those of the engine that is chosen", () => {
    const two = engine("two", [5, 5, 5, 5, 5, 5, 5, 5], [10, 20]);
    const { el } = show(view, { engines: [one, two], every: 10 });
    const choice = el.querySelector("select") as HTMLSelectElement;
    choice.value = "two";
    choice.dispatchEvent(new Event("change"));
    expect(texts(el, "tbody td")[0]).toBe("5.00");
  });
});
