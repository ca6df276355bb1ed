import type uPlot from "uplot";
import { describe, expect, it } from "vitest";
import { drawLines } from "../../../src/charts/panel/drawing";
import type { Mark } from "../../../src/charts/panel/marks";

/** What is drawn of `count` evaluations in a plot of 400 pixels: circles, and dashes and colour of every line. */
function drawn(
  count: number,
  main: number[],
  marks: Mark[] = [],
  distr = 1,
  values = main,
): { circles: number[]; lines: string[]; texts: string[]; heights: number[]; tops: number[]; linesBeforeTexts: number[]; places: number[] } {
  const linesBeforeTexts: number[] = [];
  const places: number[] = [];
  const texts: string[] = [];
  const circles: number[] = [];
  const heights: number[] = [];
  const tops: number[] = [];
  const lines: string[] = [];
  let dash: number[] = [];
  let onLine = false;
  const nothing = () => undefined;
  const ctx = {
    ...{ save: nothing, restore: nothing, rect: nothing, clip: nothing, moveTo: nothing, lineTo: nothing, fill: nothing },
    setLineDash: (lengths: number[]) => (dash = lengths),
    strokeStyle: "",
    fillText: (text: string, x: number, y: number) => {
      tops.push(y);
      texts.push(text);
      places.push(x);
      linesBeforeTexts.push(lines.length);
    },
    strokeText: nothing,
    measureText: (text: string) => ({ width: 6 * text.length }),
    beginPath: () => (onLine = true),
    stroke: () => onLine && lines.push(`${ctx.strokeStyle} ${dash}`),
    arc: (x: number, y: number) => {
      onLine = false;
      heights.push(y);
      circles.push(x);
    },
  };
  const plot = {
    ctx,
    bbox: { left: 0, top: 0, width: 400, height: 100 },
    root: document.body,
    scales: { x: { min: 0, max: 1 }, y: { distr, min: 0.25 } },
    valToPos: (value: number) => 400 * value,
  };
  const x = Float64Array.from({ length: count }, (_, index) => index / (count - 1));
  const line = { x: Float64Array.from(main), y: Float64Array.from(values), raw: null, band: null, points: count ? { x, y: x } : null, thin: [] };
  drawLines(plot as unknown as uPlot, [{ line, style: { color: "red", dash: [9, 2] }, faded: false, marks }], "red", "white");
  return { circles, heights, tops, lines, texts, linesBeforeTexts, places };
}

describe("the mark of an incident", () => {
  it.each([[0.5, 1], [1.5, 0], [-0.1, 0]])("at %f is drawn only within what is shown", (x, count) => {
    expect(drawn(0, [], [{ x, texts: ["not finite"] }]).texts).toHaveLength(count);
  });

  it("has its text beside it, within the chart also if it is long", () => {
    const text = "x".repeat(20); // 120 pixels of 400
    const at = (x: number) => drawn(0, [], [{ x, texts: [text] }]).places[0];
    expect([0.1, 0.9].map(at)).toEqual([48, 232]);
    const long = "x".repeat(60);
    expect(drawn(0, [], [{ x: 0.4, texts: [long] }, { x: 0.6, texts: [`${long}.`] }]).places).toEqual([40, 2]);
  });

  it("has its text over the lines of all marks", () => {
    const { lines, linesBeforeTexts } = drawn(0, [], [{ x: 0.5, texts: ["a"] }, { x: 0.6, texts: ["b"] }]);
    expect(linesBeforeTexts).toEqual([lines.length, lines.length]);
  });
});

describe("the marks of several curves", () => {
  it("have shorter texts where the longest has no room, and the same one once", () => {
    const texts = (name: string) => [`${name} ${"x".repeat(70)}`, "not finite, step 17", "step 17"];
    const marks = [{ x: 0.4, texts: texts("one") }, { x: 0.6, texts: texts("two") }];
    expect(drawn(0, [], marks).texts).toEqual(["not finite, step 17"]);
    const long = [{ x: 0.4, texts: ["x".repeat(70), "y".repeat(70), "step 17"] }];
    expect(drawn(0, [], long).texts).toEqual(["step 17"]);
  });
});

describe("the texts of marks", () => {
  it("are at the bottom where a curve is at the top alone", () => {
    const mark = [{ x: 0.5, texts: ["not finite"] }];
    const tops = (values: number[]) => drawn(0, values.map(() => 0.55), mark, 1, values).tops;
    expect(tops([])).toEqual([2]);
    expect(tops([0.02, 0.1])).toEqual([86]); // 100 pixels high, the text 14
    expect(tops([0.1])).toEqual([2]);
    expect(tops([0.02, 0.24])).toEqual([2]); // at both: as ever
  });
});

describe("a single point", () => {
  it("is a dot", () => {
    expect(drawn(0, [0.5]).circles).toEqual([200]);
    expect(drawn(0, [0.25, 0.5, 0.75]).circles).toEqual([]);
  });
});

describe("a logarithmic axis", () => {
  it("has a zero at its lower end, and no negative value", () => {
    expect(drawn(0, [0], [], 3).circles).toEqual([0]);
    expect(drawn(0, [0], [], 3).heights).toEqual([100]);
    expect(drawn(0, [-1], [], 3).circles).toEqual([]);
    expect(drawn(0, [0.5], [], 3).heights).toEqual([200]);
  });
});

describe("evaluations", () => {
  it.each([5, 150, 1000])("have circles that leave their line seen, also %d of them", (count) => {
    const circles = drawn(count, [0, 1]).circles.reverse(); // from the end on, which always has one
    expect(circles.at(-1)).toBe(Math.max(...circles));
    expect(circles.length).toBeGreaterThanOrEqual(Math.min(count, 20));
    const distances = circles.slice(1).map((x, index) => x - (circles[index] as number));
    expect(Math.min(...distances)).toBeGreaterThanOrEqual(14);
  });

  it("are a line without dashes and with an edge on the loss of training, and one of the engine's dashes alone", () => {
    expect(drawn(5, [0, 1]).lines).toEqual(["red 9,2", "white ", "red "]);
    expect(drawn(5, []).lines.slice(1)).toEqual(["red 9,2"]);
  });
});
