import { describe, expect, it } from "vitest";
import { evenTexts } from "../../../src/charts/panel/plot";

describe("the ticks of an axis of values", () => {
  it.each([
    [[1.5, 1.75, 2, 2.25], ["1.50", "1.75", "2.00", "2.25"]],
    [[0, 0.5, 1], ["0", "0.5", "1.0"]],
    [[0, 100, 200], ["0", "100", "200"]],
    [[0, 500, 1000, 1500], ["0", "500", "1k", "1.5k"]],
    [[0, 0.0005, 0.001], ["0", "5e-4", "0.001"]],
  ])("%j have as many digits after the point each", (values, texts) => {
    expect(evenTexts(values)).toEqual(texts);
  });
});
