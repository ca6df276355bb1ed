import { describe, expect, it } from "vitest";
import { evenDigits } from "../../src/model/even_digits";

describe("the numbers of a column", () => {
  it("have as many digits after the point, of which the largest number has four in all", () => {
    expect(evenDigits(["34.64", "39.5", "-7"])).toEqual(["34.64", "39.50", "-7.00"]);
    expect(evenDigits(["0.6066", "0.09076", "nan"])).toEqual(["0.6066", "0.0908", "nan"]);
    expect(evenDigits(["4.362e+04", "1006"])).toEqual(["43620", "1006"]);
    expect(evenDigits(["1.5", "2"])).toEqual(["1.5", "2.0"]);
    expect(evenDigits(["0", "0.0"])).toEqual(["0", "0"]);
  });

  it("are not written as 0 where they are small, and have exponents where they are very large or small", () => {
    expect(evenDigits(["12.5", "0.0004"])).toEqual(["12.5000", "0.0004"]);
    expect(evenDigits(["4.5e+07", "1"])).toEqual(["4.500e+7", "1.000e+0"]);
    expect(evenDigits(["0.00045", "0.0001"])).toEqual(["4.500e-4", "1.000e-4"]);
  });

  it("are left as they are where all are whole, or some are none", () => {
    for (const texts of [["1994", "12"], ["Basel", "1.5"], ["…", "…"], []]) expect(evenDigits(texts)).toEqual(texts);
  });
});
