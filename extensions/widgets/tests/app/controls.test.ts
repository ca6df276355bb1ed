import { describe, expect, it } from "vitest";
import controls from "../../src/app/controls";
import { show } from "../widget_model";

const button = (name: string, enabled: boolean, shown = true) => ({ name, label: name, enabled, shown, hint: name });
const idle = () => [button("Train", true), button("Pause", false), button("Resume", false, false)];

describe("the buttons", () => {
  const find = (el: HTMLElement, name: string) =>
    [...el.querySelectorAll("button")].find((one) => one.textContent === name) as HTMLButtonElement;

  it("send their names, and nothing while they cannot be pressed", () => {
    const { el, model } = show(controls, { buttons: idle() });
    find(el, "Pause").click();
    find(el, "Train").click();
    expect(model.sent).toEqual([{ kind: "press", name: "Train" }]);
  });

  it("say what they will do, and keep the focus when that changes", () => {
    const { el, model } = show(controls, { buttons: idle() });
    const train = find(el, "Train");
    train.focus();
    model.receive("buttons", [{ ...button("Train", true), label: "Train on ondevice" }]);
    expect(train.textContent).toBe("Train on ondevice");
    expect(document.activeElement).toBe(train);
    train.click();
    expect(model.sent).toEqual([{ kind: "press", name: "Train" }]);
  });

  it("show the field that is refused, of the step that they begin", () => {
    const { el, model } = show(controls, { buttons: idle() });
    const page = document.createElement("div");
    page.className = "wb-page";
    page.dataset["step"] = "train";
    const fields = '<details><input id="steps"></details><input id="rate" aria-invalid="true">';
    page.innerHTML = `<div class="wb-step-train"><input aria-invalid="true"><div class="wb-settings-form">${fields}</div></div>`;
    page.append(el);
    document.body.append(page);
    const field = (id: string) => page.querySelector(`#${id}`) as HTMLInputElement;
    find(el, "Train").click();
    expect(document.activeElement).toBe(field("rate"));
    field("steps").setAttribute("aria-invalid", "true");
    find(el, "Train").click();
    expect(document.activeElement).toBe(field("steps"));
    expect(page.querySelector("details")?.open).toBe(true);
    page.dataset["step"] = "compare";
    find(el, "Train").focus();
    find(el, "Train").click();
    expect(document.activeElement).toBe(find(el, "Train"));
    expect(model.sent).toHaveLength(3);
    page.remove();
  });

  it("keep the focus when they can no longer be pressed", () => {
    const { el, model } = show(controls, { buttons: idle() });
    find(el, "Train").focus();
    model.receive("buttons", [button("Train", false), button("Pause", true), button("Resume", false, false)]);
    expect(document.activeElement).toBe(find(el, "Train"));
    expect(find(el, "Train").getAttribute("aria-disabled")).toBe("true");
  });

  it("hand the focus from Pause to Resume", () => {
    const { el, model } = show(controls, { buttons: idle() });
    find(el, "Pause").focus();
    model.receive("buttons", [button("Train", false), button("Pause", false, false), button("Resume", true)]);
    expect(document.activeElement).toBe(find(el, "Resume"));
  });

  it("cannot be pressed once the kernel is gone", () => {
    const { el, model } = show(controls, { buttons: idle() });
    model.lose();
    expect(find(el, "Train").getAttribute("aria-disabled")).toBe("true");
    find(el, "Train").click();
    expect(model.sent).toEqual([]);
  });
});
