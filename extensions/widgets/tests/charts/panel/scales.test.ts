import { describe, expect, it, vi } from "vitest";
import { formatSeconds, increments, tickText } from "../../../src/charts/series/axis";
import { evenTicks, isLogarithmic, logRange, logTicks, niceAbove, panned, valueRange, zoomed } from "../../../src/charts/panel/scales";
import { evenTexts, logTexts, valueText } from "../../../src/charts/panel/plot";

vi.mock("uplot", () => import("../plots"));

describe("valueRange", () => {
  it("is 0 to 1 without values", () => expect(valueRange(Infinity, -Infinity, false)).toEqual([0, 1]));

  it("does not blow up values that hardly differ", () => {
    const [low, high] = valueRange(-0.12541, -0.1254, false);
    expect(high - low).toBeGreaterThan(0.0004);
  });

  it("has no number above 100 %", () => {
    for (const value of [0, 3, 97.5, 100]) {
      const [low, high] = valueRange(value, value, false, "% of the test split");
      expect(high).toBeGreaterThan(value);
      expect(Math.max(...evenTicks(low, high, 4))).toBeLessThanOrEqual(100);
    }
    expect(valueRange(50, 100, true, "samples/s")).toEqual([0, 108]);
  });
  it("begins at zero where asked", () => expect(valueRange(50, 100, true)).toEqual([0, 108]));

  it("leaves room above and below", () => {
    const [low, high] = valueRange(10, 20, false);
    expect(low).toBeCloseTo(9.2);
    expect(high).toBeCloseTo(20.8);
  });

  it("does not go below zero for values that do not", () => {
    expect(valueRange(0.1, 10, false)[0]).toBe(0);
  });

  it.each([0, 3, -3])("is never empty: all values are %d", (value) => {
    const [low, high] = valueRange(value, value, false);
    expect(low).toBeLessThan(high);
    expect(low).toBeLessThanOrEqual(value);
    expect(high).toBeGreaterThan(value);
  });
});

describe("a logarithmic axis", () => {
  it("is chosen where curves differ more than 30 times, unless one is set", () => {
    expect(isLogarithmic("auto", 31)).toBe(true);
    expect(isLogarithmic("auto", 30)).toBe(false);
    expect(isLogarithmic("linear", 300)).toBe(false);
    expect(isLogarithmic("log", 1)).toBe(true);
  });

  it.each([
    [0.001, 1000],
    [900, 290_000],
    [2, 3],
    [0.1, 0.11],
    [1e-9, 1e9],
  ])("from %d to %d has two to nine ticks, all within", (min, max) => {
    const ticks = logTicks(min, max);
    expect(ticks.length).toBeGreaterThanOrEqual(2);
    expect(ticks.length).toBeLessThanOrEqual(9);
    expect(Math.min(...ticks)).toBeGreaterThanOrEqual(min);
    expect(Math.max(...ticks)).toBeLessThanOrEqual(max * (1 + 1e-9));
  });

  it("has room around its values, and some range without any", () => {
    const [low, high] = logRange(1, 1);
    expect(low).toBeLessThan(1);
    expect(high).toBeGreaterThan(1);
    expect(logRange(Infinity, -Infinity)).toEqual([0.1, 10]);
  });
});

describe("an even axis", () => {
  it("has round numbers within its limits", () => {
    expect(evenTicks(-0.3, 1.1, 5)).toEqual([0, 0.5, 1]);
    expect(evenTicks(0, 108, 5.5)).toEqual([0, 20, 40, 60, 80, 100]);
    expect(evenTicks(1.4, 2.4, 1), "never one number alone").toEqual([1.5, 2]);
    expect(logTicks(1e-5, 1, 2)).toEqual([1e-4, 0.01, 1]);
    expect(logTicks(3e-4, 3, 2)).toEqual([0.01, 1]);
    expect(evenTicks(0.1, 0.13, 3.4)).toEqual([0.1, 0.11, 0.12, 0.13]);
  });

  it.each([1e-300, 1e-30, 1e15, 1e20, 3e37, 1e300])("has numbers for values around %d", (size) => {
    const [low, high] = valueRange(0, size, true);
    const ticks = evenTicks(low, high, 5);
    expect(ticks.length).toBeGreaterThanOrEqual(3);
    expect(ticks.length).toBeLessThanOrEqual(6);
    expect(ticks.every((tick) => tick >= low && tick <= high)).toBe(true);
    for (const text of ticks.slice(1).map(valueText)) expect(text).toMatch(/^[\d.]{1,4}(e[+-]\d+)?$/);
  });

  it("writes a small number as it is", () => {
    expect([2.5e-30, 0.0005, 1e20].map(valueText)).toEqual(["2.5e-30", "5e-4", "1e+20"]);
  });

  it("writes all large numbers of an even axis in one way", () => {
    expect(evenTexts([0, 5e8, 1e9, 1.5e9])).toEqual(["0", "5e+8", "1e+9", "1.5e+9"]);
  });

  it("writes all numbers of a logarithmic axis in one way", () => {
    expect(logTexts([1e29, null, 1e13, 1e5, 100])).toEqual(["1e+29", "", "1e+13", "1e+5", "1e+2"]);
    expect(logTexts([1e6, 1e5, 1e4, 100])).toEqual(["1M", "100k", "10k", "100"]);
    expect(logTexts([1, 0.1, 1e-3, 1e-5])).toEqual(["1", "1e-1", "1e-3", "1e-5"]);
    expect(logTexts([1, 0.1, 0.01])).toEqual(["1", "0.1", "0.01"]);
  });
});

describe("zooming and panning", () => {
  it("keeps what is under the pointer where it is", () => {
    expect(zoomed([0, 100], 25, 0.5, [0, 100], 4)).toEqual([12.5, 62.5]);
  });

  it("stays within the axis and ends with all of it", () => {
    expect(zoomed([0, 50], 50, 1.5, [0, 100], 4)).toEqual([0, 75]);
    expect(zoomed([80, 100], 80, 2, [0, 100], 4)).toEqual([60, 100]);
    expect(zoomed([0, 60], 0, 2, [0, 100], 4)).toBeNull();
    expect(panned([60, 80], 50, [0, 100])).toEqual([80, 100]);
    expect(panned([60, 80], -90, [0, 100])).toEqual([0, 20]);
  });

  it("goes no closer than some steps", () => {
    const [low, high] = zoomed([10, 14], 12, 0.1, [0, 100], 4) ?? [0, 0];
    expect(high - low).toBeCloseTo(4);
  });
});

describe("the horizontal axis", () => {
  it("of steps and samples has whole numbers only", () => {
    for (const axis of ["step", "samples"] as const) {
      expect(increments(axis).every(Number.isInteger)).toBe(true);
    }
  });

  it("names neighbouring steps differently, however large", () => {
    expect(tickText("step", 512_345, 5)).toBe("512,345");
    expect(tickText("step", 2_000_000, 500_000)).toBe("2M");
    expect(tickText("step", 512_000, 1000)).not.toBe(tickText("step", 513_000, 1000));
  });

  it.each([
    [0.0123, "12.3\u00a0ms"],
    [12.34, "12.3\u00a0s"],
    [125, "2:05"],
    [3725, "1:02:05"],
  ])("writes %d seconds as %s", (seconds, text) => expect(formatSeconds(seconds)).toBe(text));

  it("grows in leaps during a run", () => {
    expect(niceAbove(100)).toBe(100);
    expect(niceAbove(101)).toBe(150);
    expect(niceAbove(0.7)).toBeCloseTo(0.8);
  });
});
