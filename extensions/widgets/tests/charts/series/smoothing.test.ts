import { describe, expect, it } from "vitest";
import { offeredSmoothing, smoothed, trailingRate } from "../../../src/charts/series/smoothing";

const floats = (...values: number[]) => Float64Array.from(values);

describe("smoothed", () => {
  it("leaves values as they are at 0, and a constant at any", () => {
    expect([...smoothed(floats(1, 2), floats(3, 5), 0)]).toEqual([3, 5]);
    smoothed(floats(1, 2, 3, 9), floats(4, 4, 4, 4), 7).forEach((value) => expect(value).toBeCloseTo(4, 12));
  });

  it("is the mean of all values so far, each weighted by its age in steps", () => {
    const [over, values] = [3, [1, 5, 2, 8]];
    const found = smoothed(floats(1, 2, 3, 4), floats(...values), over);
    const weights = [3, 2, 1, 0].map((age) => 0.5 ** age); // (3 - 1) / (3 + 1) a step
    const sum = weights.reduce((total, weight) => total + weight);
    const expected = values.reduce((total, value, at) => total + value * (weights[at] as number), 0) / sum;
    expect(found[3]).toBeCloseTo(expected, 12);
  });

  it("is late by as much as a plain mean over so many steps", () => {
    const steps = Float64Array.from({ length: 400 }, (_, index) => index + 1);
    const falling = steps.map((step) => -step);
    expect((smoothed(steps, falling, 21)[399] as number) - (falling[399] as number)).toBeCloseTo(10, 6);
  });

  it("passes over what is not finite", () => {
    const found = smoothed(floats(1, 2, 3), floats(Number.NaN, 6, Number.NaN), 5);
    expect(found[0]).toBeNaN();
    expect(found[1]).toBeCloseTo(6, 12);
    expect(found[2]).toBe(found[1]);
  });
});

describe("trailingRate", () => {
  const zero = { seconds: 0, samples: 0 };

  it("is samples over seconds of the last steps together, not the mean of their rates", () => {
    const rate = trailingRate(floats(1, 2), floats(1, 4), floats(32, 64), 10, zero);
    expect([...rate]).toEqual([32, 16]);
  });

  it("looks back over the window alone", () => {
    const steps = floats(1, 2, 3, 4);
    const rate = trailingRate(steps, floats(100, 101, 102, 103), floats(1, 2, 3, 4), 2, zero);
    expect(rate[3]).toBeCloseTo(1, 12);
  });

  it("leaves the warm-up out of the rate of later steps", () => {
    const [steps, seconds] = [floats(1, 2, 3, 4, 5), floats(8, 10, 11, 12, 13)];
    const warmUp = { steps: 2, seconds: 10, samples: 64 };
    const rate = trailingRate(steps, seconds, floats(32, 64, 96, 128, 160), 10, zero, warmUp);
    expect([...rate]).toEqual([4, 6.4, 32, 32, 32]);
    // Also where no point is at its end.
    const merged = trailingRate(floats(3, 5), floats(11, 13), floats(96, 160), 10, zero, warmUp);
    expect([...merged]).toEqual([32, 32]);
  });

  it("begins from what was before a part", () => {
    const rate = trailingRate(floats(11), floats(12), floats(110), 5, { seconds: 10, samples: 100 });
    expect(rate[0]).toBe(5);
  });
});

describe("the slider", () => {
  it("offers nothing that is longer than a fifth of the run", () => {
    expect(offeredSmoothing(0)).toEqual([0, 2, 5, 10, 20]);
    expect(offeredSmoothing(1000)).toEqual([0, 2, 5, 10, 20, 50, 100, 200]);
  });
});
