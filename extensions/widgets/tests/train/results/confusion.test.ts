import { describe, expect, it } from "vitest";
import { classScores, mistakes, usedClasses } from "../../../src/train/results/confusion";

// Class 2 is never the truth and class 3 is never used at all.
const confusion = [
  [5, 1, 0, 0],
  [2, 6, 3, 0],
  [0, 0, 0, 0],
  [0, 0, 0, 0],
];

describe("a confusion matrix", () => {
  it("leaves out outputs that no row is of and none is taken for", () => {
    expect(usedClasses(confusion)).toEqual([0, 1, 2]);
    expect(usedClasses([])).toEqual([]);
  });

  it("gives the accuracy of each class that has rows", () => {
    expect(classScores(confusion)).toEqual([
      { index: 0, total: 6, right: 5 },
      { index: 1, total: 11, right: 6 },
    ]);
  });

  it("lists what is mistaken most, the most frequent first", () => {
    expect(mistakes(confusion, 2)).toEqual([
      { from: 1, to: 2, count: 3 },
      { from: 1, to: 0, count: 2 },
    ]);
    expect(mistakes(confusion, 9).length).toBe(3);
  });
});
