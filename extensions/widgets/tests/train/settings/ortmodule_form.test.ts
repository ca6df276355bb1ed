import { describe, expect, it } from "vitest";
import form from "../../../src/train/settings/ortmodule_form";
import { show } from "../../widget_model";

const field = { name: "recompute_config", label: "Recompute config", description: "", kind: "text", choices: [], default: "" };

describe("the options of ORTModule", () => {
  it("are passed on while they are typed, and say why one is refused", () => {
    const { el, model } = show(form, { groups: [{ title: "Memory", fields: [field] }], value: {}, problems: {} });
    const input = el.querySelector("input") as HTMLInputElement;
    const problem = el.querySelector(".wb-problem") as HTMLElement;
    const state = () => [input.getAttribute("aria-invalid"), problem.hidden, problem.textContent, el.querySelector("summary")?.textContent];
    expect(state()).toEqual(["false", true, "", "ORTModule options "]);
    input.value = "gelu";
    input.dispatchEvent(new Event("input"));
    expect(model.get("value")).toEqual({ recompute_config: "gelu" });
    model.set("problems", { recompute_config: "Must be operators:kind:count." });
    expect(state()).toEqual(["true", false, "Must be operators:kind:count.", "ORTModule options 1 wrong"]);
    expect(input.value).toBe("gelu");
  });
});
