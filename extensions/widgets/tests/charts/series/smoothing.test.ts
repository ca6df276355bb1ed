import { describe, expect, it } from "vitest";
import { offeredSmoothing, smoothed, trailingRate } from "../../../src/charts/series/smoothing";

const floats = (...values: number[]) => Float64Array.from(values);

describe("smoothed", () => {
  it("leaves values as they are at 0, and a constant at any", () => {
    expect([...smoothed(floats(1, 2), floats(3, 5), 0)]).toEqual([3, 5]);
    smoothed(floats(1, 2, 3, 9), floats(4, 4, 4, 4), 7).forEach((value) => expect(value).toBeCloseTo(4, 12));
  });

  it("is the mean of the last steps, each point as long as the steps since the one before", () => {
    expect([...smoothed(floats(1, 2, 3, 4), floats(1, 5, 2, 8), 3)]).toEqual([1, 3, 8 / 3, 5]);
    expect(smoothed(floats(1, 2, 6), floats(1, 5, 2), 10)[2]).toBeCloseTo((1 + 5 + 4 * 2) / 6, 12);
  });

  it("is that mean at every point, however the steps lie and whatever is missing", () => {
    let at = 0;
    const steps = Float64Array.from({ length: 300 }, (_, index) => (at += 1 + ((index * 7) % 5)));
    const values = steps.map((step, index) => (index % 11 === 3 ? Number.NaN : Math.sin(step)));
    for (const over of [2, 9, 40, 5000]) {
      const found = smoothed(steps, values, over);
      steps.forEach((step, index) => {
        let [total, weight] = [0, 0];
        for (let each = 0; each <= index; each += 1) {
          const length = (steps[each] as number) - (steps[each - 1] ?? 2 * (steps[0] as number) - (steps[1] as number));
          if ((steps[each] as number) <= step - over || Number.isNaN(values[each])) continue;
          total += length * (values[each] as number);
          weight += length;
        }
        if (weight === 0) expect(found[index]).toBeNaN();
        else expect(found[index]).toBeCloseTo(total / weight, 10);
      });
    }
  });

  it("forgets a value that leapt", () => {
    const values = Float64Array.from({ length: 30 }, (_, at) => (at === 1 ? 1e30 : 2));
    expect(smoothed(values.map((_, at) => at + 1), values, 10)[20]).toBe(2);
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
