import { describe, expect, it } from "vitest";
import { matches, patternsFor, scopesOf } from "../../src/artifacts/parameter_scopes";

const names = ["body.0.weight", "body.0.bias", "body.1.weight", "body.1.bias", "head.weight", "head.bias"];
const parameters = names.map((name) => ({ name, shape: "2", count: 2 }));

describe("scopes of parameters", () => {
  it("are a tree in the order of the parameters", () => {
    const [body, head] = scopesOf(parameters);
    expect([body?.label, head?.label]).toEqual(["body", "head"]);
    expect(body?.children.map(({ key }) => key)).toEqual(["body.0", "body.1"]);
    expect(body?.parameters.length).toBe(4);
    expect(head?.children.map(({ label }) => label)).toEqual(["weight", "bias"]);
  });

  it("draw a scope with one scope in it as one line", () => {
    const [only] = scopesOf(parameters.slice(0, 2));
    expect(only?.label).toBe("body.0");
    expect(only?.children.length).toBe(2);
  });
});

describe("patterns", () => {
  it("are none where everything is trained", () => {
    expect(patternsFor(names, new Set(names))).toEqual([]);
  });

  it("name whole scopes, and single parameters where a scope is divided", () => {
    expect(patternsFor(names, new Set(["head.weight", "head.bias", "body.1.bias"]))).toEqual([
      "body.1.bias",
      "head.*",
    ]);
  });

  it("mean what was chosen, whatever was", () => {
    for (let bits = 1; bits < 2 ** names.length; bits += 1) {
      const chosen = names.filter((_, index) => bits & (1 << index));
      const patterns = patternsFor(names, new Set(chosen));
      const trained = patterns.length ? names.filter((name) => matches(name, patterns)) : names;
      expect(trained).toEqual(chosen);
    }
  });

  it("match as fnmatch does", () => {
    expect(matches("head.weight", ["*.weight"])).toBe(true);
    expect(matches("head.weight", ["head"])).toBe(false);
    expect(matches("a.b", ["a?b"])).toBe(true);
    expect(matches("axb", ["a.b"])).toBe(false);
    expect(matches("l1", ["l[0-1]"])).toBe(true);
    expect(matches("l1", ["l[!0-1]"])).toBe(false);
    expect(matches("l]", ["l[]]"])).toBe(true);
    expect(matches("l^", ["l[^x]"])).toBe(true);
    expect(matches("l1", ["l[9-0]"])).toBe(false);
    expect(matches("l1", ["l[!9-0]"])).toBe(true);
    expect(matches("[]", ["[]"])).toBe(true);
  });
});
