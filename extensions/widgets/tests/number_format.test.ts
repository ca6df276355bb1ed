import { describe, expect, it } from "vitest";
import * as format from "../src/number_format";

const cases: [(value: number) => string, [number, string][]][] = [
  [format.formatWhole, [[0, "0"], [12345, "12,345"], [999.6, "1,000"]]],
  [
    format.formatSignificant,
    [[0, "0"], [0.00002834, "2.83e-05"], [0.0028, "0.00280"], [1.066, "1.07"], [99.96, "100"], [12345.6, "12,300"], [9.038e26, "9.04e+26"]],
  ],
  [format.formatMegabytes, [[0, "0.0"], [51.72, "51.7"], [100, "100"], [1330.6, "1,331"]]],
  [format.formatDifference, [[0, "0"], [1.92, "1.9"], [0.0100001, "0.010"], [4.8e-7, "4.8e-07"]]],
  [format.formatLoss, [[0, "0"], [0.0005, "5.00e-04"], [0.25, "0.2500"], [2.302585, "2.3026"], [1234.5, "1,235"], [-9.038e26, "-9.04e+26"]]],
  [format.formatBytes, [[0, "0\u00a0B"], [512, "512\u00a0B"], [34_200, "34.2\u00a0kB"], [33_000, "33.0\u00a0kB"], [1_074_000, "1.07\u00a0MB"], [5e12, "5,000\u00a0GB"]]],
];

for (const [write, pairs] of cases) {
  describe(write.name, () => {
    it.each(pairs)("of %d is %s", (value, text) => expect(write(value)).toBe(text));
  });
}

describe("a count", () => {
  it("has its noun in the right number", () => {
    expect([0, 1, 12345].map((count) => format.counted(count, "node"))).toEqual(["0 nodes", "1 node", "12,345 nodes"]);
  });
});

describe("a number with its unit", () => {
  it("stays in one line, and other words do not", () => {
    const spaces = (text: string) => format.unbroken(text).replaceAll("\u00a0", "_");
    expect(spaces("accuracy 91.6 %, about 2 min left, 34 MB (100 %)")).toBe("accuracy 91.6_%, about 2_min left, 34_MB (100_%)");
    expect(spaces("step 5 shows 3 samples, 2 seconds, 7 hours of 4 %s")).toBe("step 5 shows 3 samples, 2 seconds, 7 hours of 4 %s");
  });
});
