import { describe, expect, it } from "vitest";
import { runNames } from "../../src/charts/run_names";

describe("the titles of runs in one line", () => {
  it("say model and day once", () => {
    const titles = [
      "digits-mlp · pytorch · 23 Nov 22:08:25",
      "digits-mlp · ondevice · 23 Nov 22:08:35",
      "digits-mlp · ondevice · 24 Nov 08:00:00",
    ];
    expect(runNames(titles)).toBe("digits-mlp · pytorch · 23 Nov 22:08:25; ondevice · 22:08:35; ondevice · 24 Nov 08:00:00");
  });

  it("stay whole for one run, for several models and for names given by a user", () => {
    const title = "digits-mlp · pytorch · 23 Nov 22:08:25";
    expect(runNames([title])).toBe(title);
    for (const other of ["digits-cnn · pytorch · 23 Nov 22:08:25", "baseline", "a · b"]) {
      expect(runNames([title, other])).toBe(`${title}; ${other}`);
    }
    expect(runNames([])).toBe("");
  });
});
