import { beforeEach, describe, expect, it, vi } from "vitest";
import settingsForm from "../../../src/train/settings/settings_form";
import { show } from "../../widget_model";

const field = (name: string, kind: string, applies: string, choices: string[] = []) => ({
  name,
  label: name,
  description: `what ${name} is`,
  kind,
  default: applies,
  choices,
});
const traits = () => ({
  groups: [
    {
      title: "Training",
      folded: false,
      fields: [field("epochs", "whole", "20"), field("loss", "choice", "mse", ["mse", "l1"])],
    },
    { title: "Rare", folded: true, fields: [field("evaluate", "switch", "yes")] },
  ],
  texts: {} as Record<string, string>,
  problems: {} as Record<string, string>,
});

describe("the settings form", () => {
  let shown: ReturnType<typeof show<ReturnType<typeof traits>>>;
  const input = (label: string) => {
    const labels = [...shown.el.querySelectorAll("label")];
    const found = labels.find((one) => one.textContent === label) as HTMLLabelElement;
    return shown.el.querySelector(`#${found.getAttribute("for")}`) as HTMLInputElement;
  };

  beforeEach(() => {
    shown = show(settingsForm, traits());
  });

  it("keeps what is said under a field until a press elsewhere has become a click", () => {
    vi.useFakeTimers();
    const line = input("epochs").closest(".wb-setting") as HTMLElement;
    input("epochs").dispatchEvent(new FocusEvent("focus"));
    window.dispatchEvent(new Event("pointerdown"));
    input("epochs").dispatchEvent(new FocusEvent("blur"));
    expect(line.classList).toContain("wb-held");
    window.dispatchEvent(new Event("pointerup"));
    expect(line.classList).toContain("wb-held");
    vi.runAllTimers();
    expect(line.classList).not.toContain("wb-held");
    window.dispatchEvent(new Event("pointerdown"));
    expect(line.classList).not.toContain("wb-held");
    vi.useRealTimers();
  });

  it("shows what applies while a field is empty", () => {
    expect(input("epochs").value).toBe("");
    expect(input("epochs").placeholder).toBe("20");
    const loss = input("loss") as unknown as HTMLSelectElement;
    expect(loss.options[0]?.textContent).toBe("mse");
    expect([...loss.options].map((option) => option.value)).toEqual(["", "l1"]);
    expect(loss.title).toContain("Default: mse.");
    shown.model.receive("groups", [
      { title: "Training", folded: false, fields: [field("epochs", "whole", "7"), field("loss", "choice", "l1", ["mse", "l1"])] },
      { title: "Rare", folded: true, fields: [field("evaluate", "switch", "yes")] },
    ]);
    expect(input("epochs").placeholder).toBe("7");
  });

  it("unfolds what is filled in elsewhere, and not again what was folded since", () => {
    const details = input("evaluate").closest("details") as HTMLDetailsElement;
    shown.model.receive("texts", { epochs: "3" });
    expect(details.open).toBe(false);
    shown.model.receive("texts", { evaluate: "no", epochs: "3" });
    expect(details.open).toBe(true);
    details.open = false;
    shown.model.receive("texts", { evaluate: "no", epochs: "4" });
    expect(details.open).toBe(false);
    details.open = true;
    const groups = traits().groups;
    groups[1]?.fields.push(field("more", "whole", "1"));
    shown.model.receive("groups", groups);
    expect(input("more").closest("details")?.open, "other fields come, as of another engine").toBe(true);
    // A page of a run is filled in before it is seen.
    const restored = show(settingsForm, { ...traits(), texts: { evaluate: "no" } });
    expect(restored.el.querySelector("details")?.open).toBe(true);
  });

  it("sends every character, in order, as messages", () => {
    for (const text of ["1", "12", ""]) {
      input("epochs").value = text;
      input("epochs").dispatchEvent(new Event("input"));
    }
    expect(shown.model.sent).toEqual(
      ["1", "12", ""].map((text) => ({ kind: "type", name: "epochs", text })),
    );
  });

  it("marks a wrong value at its field, and counts it at a folded heading", () => {
    shown.model.receive("problems", { epochs: "Must be 1 or more.", evaluate: "Give yes or no." });
    expect(input("epochs").getAttribute("aria-invalid")).toBe("true");
    const described = input("epochs").getAttribute("aria-describedby")?.split(" ")[0] ?? "";
    expect(shown.el.querySelector(`#${described}`)?.textContent).toBe("Must be 1 or more.");
    expect(shown.el.querySelector("summary")?.textContent).toContain("1 wrong");
    shown.model.receive("problems", {});
    expect(input("epochs").getAttribute("aria-invalid")).toBe("false");
  });

  it("shows what the kernel sets, but never over what is being typed", () => {
    shown.model.receive("texts", { epochs: "3", loss: "l1" });
    expect(input("epochs").value).toBe("3");
    expect(input("loss").value).toBe("l1");
    input("epochs").focus();
    input("epochs").value = "31";
    shown.model.receive("texts", { epochs: "30" });
    expect(input("epochs").value).toBe("31");
  });
});
