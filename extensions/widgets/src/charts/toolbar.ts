// The controls above the charts: axis, smoothing, all of the run, table, files.

import { aboutSteps, AXES, type AxisName, type StepName } from "./series/axis";
import { element, freshId, setAttribute, setText } from "../element";
import { onPress, setUsable } from "../focus";
import { formatWhole } from "../number_format";
import { OWN_KEYS } from "../own_keys";
import { offeredSmoothing } from "./series/smoothing";

export const FORMATS = ["png", "svg", "csv"] as const;

export interface ToolbarListener {
  onAxis: (axis: AxisName) => void;
  onSmoothing: (steps: number) => void;
  onReset: () => void;
  onTable: (shown: boolean) => void;
  onSave: (format: string) => void;
}

export class Toolbar {
  readonly root: HTMLElement;
  private readonly axis = element("select");
  private readonly slider = element("input", { type: "range", min: "0", step: "1", [OWN_KEYS]: "" });
  private readonly amount = element("span", { class: "wb-amount", "aria-hidden": "true" });
  private readonly all = element("button", { type: "button", class: "wb-toggle" }, "Show all");
  private readonly saving = element("span", { class: "wb-saving", role: "alert" });
  private readonly range = element("span", { class: "wb-save-range" });
  private offered = [0];
  private stepName: StepName = "step";

  constructor(listener: ToolbarListener) {
    for (const [name, { option }] of Object.entries(AXES)) {
      this.axis.append(element("option", { value: name }, option));
    }
    this.axis.addEventListener("change", () => listener.onAxis(this.axis.value as AxisName));
    this.slider.title = "Loss: a mean of so many steps. Throughput: a mean of as many, or of more in a long run";
    this.slider.addEventListener("input", () => {
      listener.onSmoothing(this.offered[Number(this.slider.value)] ?? 0);
    });
    this.all.title = "Show all of the axis (double click, or 0)";
    onPress(this.all, listener.onReset);
    const table = element(
      "button",
      { type: "button", class: "wb-toggle", "aria-label": "Show as table" },
      "Table",
    );
    table.setAttribute("aria-pressed", "false");
    table.addEventListener("click", () => {
      const shown = table.getAttribute("aria-pressed") !== "true";
      table.setAttribute("aria-pressed", String(shown));
      listener.onTable(shown);
    });
    this.root = element(
      "div",
      { class: "wb-chart-tools", role: "group", "aria-label": "Charts" },
      labelled("Axis", this.axis),
      labelled("Smoothing", this.slider, this.amount),
      this.all,
      table,
      this.saveMenu(listener),
      this.saving,
    );
  }

  /** Called before `update`. */
  nameSteps(name: StepName): void {
    this.stepName = name;
    setText(this.axis.options[0] as HTMLOptionElement, name === "step" ? AXES.step.option : "Rounds");
  }

  update(axis: AxisName, smoothing: number, zoomed: boolean, steps: number): void {
    if (this.axis.value !== axis) this.axis.value = axis;
    this.offered = offeredSmoothing(steps);
    if (!this.offered.includes(smoothing)) {
      this.offered = [...this.offered, smoothing].sort((a, b) => a - b);
    }
    setAttribute(this.slider, "max", String(this.offered.length - 1));
    const chosen = String(this.offered.indexOf(smoothing));
    if (this.slider.value !== chosen) this.slider.value = chosen;
    const text = smoothing > 0 ? aboutSteps(smoothing, this.stepName) : "off";
    // Of about one width, so that the slider stays where it is while it is moved.
    setText(this.amount, smoothing > 0 ? `≈ ${formatWhole(smoothing)} ${this.stepName}s` : text);
    setAttribute(this.slider, "aria-valuetext", text);
    setUsable(this.all, zoomed);
    setText(this.range, zoomed ? "Visible range only" : "");
  }

  /** Outcome of saving a file; empty if there is none. */
  say(text: string): void {
    this.saving.textContent = text;
  }

  private saveMenu(listener: ToolbarListener): HTMLElement {
    const menu = element("details", { class: "wb-save" });
    const summary = element("summary", { class: "wb-toggle" }, "Save");
    const fold = () => {
      menu.open = false;
      summary.focus();
    };
    const buttons = FORMATS.map((format) => {
      const button = element("button", { type: "button" }, format.toUpperCase());
      button.addEventListener("click", () => {
        fold();
        this.say(`Making the ${format.toUpperCase()} …`);
        listener.onSave(format);
      });
      return button;
    });
    menu.append(summary, element("div", {}, ...buttons, this.range));
    menu.addEventListener("focusout", (event) => {
      if (!menu.contains(event.relatedTarget as Node | null)) menu.open = false;
    });
    menu.addEventListener("keydown", (event) => {
      if (!menu.open) return;
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (by !== undefined) {
        event.preventDefault(); // of scrolling
        const all = [summary, ...buttons];
        all[(all.indexOf(document.activeElement as HTMLButtonElement) + by + all.length) % all.length]?.focus();
      }
      if (event.key !== "Escape") return;
      event.stopPropagation();
      fold();
    });
    return menu;
  }
}

function labelled(text: string, control: HTMLElement, ...more: HTMLElement[]): HTMLElement {
  control.id = freshId("control");
  const label = element("label", { for: control.id }, text);
  return element("span", { class: "wb-chart-tool" }, label, control, ...more);
}
