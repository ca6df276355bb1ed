import { describe, expect, it } from "vitest";
import engineChoice from "../../../src/train/settings/engine_choice";
import { show } from "../../widget_model";

const row = (name: string, more: object = {}) => ({
  name,
  description: `what ${name} is`,
  ok: true,
  reason: "",
  remedy: "",
  ...more,
});
const absent = { ok: false, reason: "Cannot run here: It is not installed.", remedy: "pip install it" };

function render(rows: ReturnType<typeof row>[], value: string[]) {
  const traits = { label: "Engines", rows, value, disabled: false, engine_styles: {} };
  const { el, model } = show(engineChoice, traits);
  const box = (name: string) => el.querySelector(`input[value="${name}"]`) as HTMLInputElement;
  const click = (name: string) => {
    box(name).checked = !box(name).checked;
    box(name).dispatchEvent(new Event("change"));
  };
  return { el, model, box, click };
}

describe("the choice of engines", () => {
  it("checks what is chosen", () => {
    const { box } = render([row("a"), row("b")], ["b"]);
    expect([box("a").checked, box("b").checked]).toEqual([false, true]);
  });

  it("sends each click as a message, so that Train does not overtake it", () => {
    const { model, click } = render([row("a"), row("b"), row("c")], ["c"]);
    click("b");
    click("c");
    expect(model.sent).toEqual([
      { kind: "choose", name: "b", chosen: true },
      { kind: "choose", name: "c", chosen: false },
    ]);
    expect(model.saved).toEqual([]);
  });

  it("says why an engine cannot run, with the command, and does not let it be chosen", () => {
    const { el, box } = render([row("a", absent)], []);
    expect(box("a").disabled).toBe(true);
    const detail = el.querySelector(`#${box("a").getAttribute("aria-describedby")}`);
    expect(detail?.textContent).toBe("Cannot run here: It is not installed. pip install it");
    expect(detail?.querySelector("code")?.textContent).toBe("pip install it");
  });

  it("shows rows that come later and keeps the choice", () => {
    const { box, model } = render([row("a")], ["b"]);
    box("a").focus();
    model.receive("rows", [row("a"), row("b")]);
    expect(box("b").checked).toBe(true);
    expect(document.activeElement).toBe(box("a"));
    model.receive("disabled", true);
    expect([box("a").disabled, box("b").disabled]).toEqual([true, true]);
  });
});
