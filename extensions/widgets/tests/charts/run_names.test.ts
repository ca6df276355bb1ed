import { describe, expect, it } from "vitest";
import { runNames } from "../../src/charts/run_names";

const curve = (detail: string, label = detail.split(" · ")[1] ?? detail) => ({ detail, label });

describe("the titles of runs in one line", () => {
  it("say model and day once", () => {
    const titles = [
      "digits-mlp · pytorch · 23 Nov 22:08:25",
      "digits-mlp · ondevice · 23 Nov 22:08:35",
      "digits-mlp · ondevice · 24 Nov 08:00:00",
    ];
    expect(runNames(titles.map((title) => curve(title)))).toBe("digits-mlp · pytorch · 23 Nov 22:08:25; ondevice · 22:08:35; ondevice · 24 Nov 08:00:00");
  });

  it("have the names of the curves in place of the engines", () => {
    const one = curve("digits-mlp · pytorch · 23 Nov 22:08:25", "pytorch · lr 0.1");
    const other = curve("digits-mlp · pytorch · 23 Nov 22:08:35", "pytorch · 22:08:35");
    expect(runNames([one, other])).toBe("digits-mlp · pytorch · lr 0.1 · 23 Nov 22:08:25; pytorch · 22:08:35");
    expect(runNames([curve(one.detail, one.detail)])).toBe(one.detail);
    const first = curve(one.detail, "pytorch · 22:08:25");
    expect(runNames([first, other])).toBe("digits-mlp · pytorch · 23 Nov 22:08:25; pytorch · 22:08:35");
  });

  it("stay whole for one run, for several models and for names given by a user", () => {
    const title = "digits-mlp · pytorch · 23 Nov 22:08:25";
    expect(runNames([curve(title)])).toBe(title);
    for (const other of ["digits-cnn · pytorch · 23 Nov 22:08:25", "baseline", "a · b"]) {
      expect(runNames([curve(title), curve(other)])).toBe(`${title}; ${other}`);
    }
    expect(runNames([])).toBe("");
  });
});
