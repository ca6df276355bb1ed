import { beforeEach, describe, expect, it } from "vitest";
import taskSection from "../../../src/train/settings/task_section";
import { show } from "../../widget_model";

const rows = { name: "rows", label: "Rows", description: "of the batch", kind: "whole", default: "8", choices: [] as string[] };
const traits = () => ({
  title: "Verify gradients",
  explanation: "Compares gradients.",
  action: "Verify",
  fields: [rows],
  texts: {} as Record<string, string>,
  problems: {} as Record<string, string>,
  opened: false,
  applies: true,
  refusal: "",
  about: "",
  doing: "",
  problem: "",
  sentences: "",
  good: true,
  offer: "",
  outdated: false,
  tables: [] as { caption: string; columns: string[]; rows: string[][] }[],
});

describe("a task", () => {
  let shown: ReturnType<typeof show<ReturnType<typeof traits>>>;
  const button = (name: string) =>
    [...shown.el.querySelectorAll("button")].find((one) => one.textContent === name) as HTMLButtonElement;

  beforeEach(() => {
    shown = show(taskSection, traits());
  });

  it("is folded, and tells the kernel when it is opened", () => {
    const details = shown.el.querySelector("details") as HTMLDetailsElement;
    expect(details.open).toBe(false);
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    expect(shown.model.saved).toEqual([{ opened: true }]);
  });

  it("tells what is typed, and shows what is wrong at its field", () => {
    const input = shown.el.querySelector("input") as HTMLInputElement;
    expect(input.placeholder).toBe("8");
    input.value = "x";
    input.dispatchEvent(new Event("input"));
    expect(shown.model.sent).toEqual([{ kind: "type", name: "rows", text: "x" }]);
    shown.model.receive("problems", { rows: "'x' is not an integer." });
    expect(input.getAttribute("aria-invalid")).toBe("true");
    expect(shown.el.textContent).toContain("'x' is not an integer.");
  });

  it("starts, is cancelled, and keeps the focus in between", () => {
    expect(button("Cancel").hidden).toBe(true);
    button("Verify").click();
    expect(shown.model.sent).toEqual([{ kind: "start" }]);
    shown.model.receive("doing", "ondevice: computing the gradients");
    expect(shown.el.textContent).toContain("ondevice: computing the gradients …");
    button("Verify").click();
    expect(shown.model.sent).toHaveLength(1);
    button("Cancel").focus();
    button("Cancel").click();
    expect(shown.model.sent.at(-1)).toEqual({ kind: "cancel" });
    shown.model.receive("doing", "");
    expect(document.activeElement).toBe(button("Verify"));
  });

  it("says why it cannot be started", () => {
    shown.model.receive("refusal", "Choose a model first.");
    expect(shown.el.textContent).toContain("Choose a model first.");
    button("Verify").click();
    expect(shown.model.sent).toEqual([]);
  });

  it("has no button where it is done when it is opened, and no fields where it has no meaning", () => {
    const { el, model } = show(taskSection, { ...traits(), action: "" });
    const start = el.querySelector("button") as HTMLButtonElement;
    const grid = el.querySelector<HTMLElement>(".wb-setting-grid") as HTMLElement;
    expect([start.hidden, grid.hidden]).toEqual([true, false]);
    model.receive("refusal", "Choose another model.");
    expect([start.hidden, grid.hidden]).toEqual([true, true]);
  });

  it("shows what it came to, and that settings have changed since", () => {
    const table = { caption: "Errors", columns: ["Gradient of", "ondevice"], rows: [["<b>", "2.0e-1 wrong"]] };
    shown.model.receive("good", false);
    shown.model.receive("tables", [table]);
    shown.model.receive("sentences", "It does not agree.");
    const status = shown.el.querySelector<HTMLElement>('[role="status"]') as HTMLElement;
    expect(status.textContent).toBe("It does not agree.");
    expect(status.dataset["outcome"]).toBe("error");
    expect(shown.el.querySelector("summary")?.textContent).toContain("see the result");
    expect(shown.el.querySelector("tbody th")?.textContent).toBe("<b>");
    shown.model.receive("about", "Kept.");
    const about = [...shown.el.querySelectorAll("p")].find((one) => one.textContent === "Kept.");
    expect(about?.hidden).toBe(true);
    shown.model.receive("outdated", true);
    expect(about?.hidden).toBe(false);
    expect(status.textContent).toContain("Settings have changed since.");
    shown.model.receive("problem", "It crashed.");
    expect(shown.el.querySelector('[role="alert"]')?.textContent).toBe("It crashed.");
    shown.model.receive("applies", false);
    expect(shown.el.hidden).toBe(true);
  });

  it("offers to apply what its result suggests", () => {
    const { el, model } = shown;
    const offered = () => [...el.querySelectorAll("button")].filter((one) => !one.hidden).map(({ textContent }) => textContent);
    expect(offered()).toEqual(["Verify"]);
    model.receive("sentences", "The largest batch that fits has 64 rows.");
    model.receive("offer", "Use batch size 64");
    expect(offered()).toEqual(["Verify", "Use batch size 64"]);
    button("Use batch size 64").click();
    expect(model.sent).toEqual([{ kind: "apply" }]);
  });
});
