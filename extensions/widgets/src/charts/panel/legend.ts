// The legend of one chart: each curve's line, name and value. A click hides the curve and shows it
// again; pointing at it, or having the focus on it, fades the others.

import { element, setAttribute, setText } from "../../element";
import { type EngineStyle, lineSample } from "../../theme";

export interface CurveLook extends EngineStyle {
  key: string;
  label: string;
  /** Model, engine and id of the run. */
  detail: string;
}

export interface LegendListener {
  onToggle: (key: string) => void;
  /** The pointer or the focus is on a curve; null: on none. */
  onHighlight: (key: string | null) => void;
}

interface Item {
  root: HTMLElement;
  button: HTMLElement;
  value: HTMLElement;
  /** Letters of the longest text so far: with the step that a value is of, and without. */
  widest: { withStep: number; without: number };
}

/** What the legend asks for a curve; `withStep`: with the step of a value that is of another one than the rest. */
type Asked<T> = (key: string, withStep: boolean) => T;

export class Legend {
  readonly root = element("ul", { class: "wb-legend" });
  private looks = "";
  /** What it was arranged for: its width, names and longest texts. */
  private arranged = "";
  private width = 0;
  /** Whether there is room for the steps of values. */
  private withStep = true;
  private readonly items = new Map<string, Item>();

  constructor(private readonly listener: LegendListener) {}

  /** Shows `curves` in this order with the text that `valueOf` returns for each, which may have `longest` letters. */
  update(curves: CurveLook[], hidden: string[], valueOf: Asked<string>, longest: Asked<number> = () => 0): void {
    const looks = JSON.stringify(curves);
    if (looks !== this.looks) this.rebuild(curves, looks);
    const textOf = (key: string, withStep: boolean) => (hidden.includes(key) ? "hidden" : valueOf(key, withStep));
    const showTexts = () => this.items.forEach(({ value }, key) => setText(value, textOf(key, this.withStep)));
    for (const [key, { button, widest }] of this.items) {
      widest.withStep = Math.max(longest(key, true), widest.withStep, textOf(key, true).length);
      widest.without = Math.max(longest(key, false), widest.without, textOf(key, false).length);
      setAttribute(button, "aria-pressed", String(!hidden.includes(key)));
    }
    showTexts(); // first: without a text a value takes no line
    const { withStep } = this;
    this.arrange();
    if (this.withStep !== withStep) showTexts();
  }

  resize(): void {
    this.width = this.root.clientWidth;
    this.arrange();
  }

  /**
   * Keeps room for the longest texts: a legend that takes more or fewer lines while it is pointed at, or as a run ends, would
   * move the charts. Where there is not that much beside the names, without the steps of values. Where that is too much as
   * well, below, and a text that is short enough stands beside its name.
   */
  private arrange(): void {
    const items = [...this.items.values()];
    const needs = [this.width, this.looks, ...items.map(({ widest }) => `${widest.withStep},${widest.without}`)].join(" ");
    if (needs === this.arranged) return;
    this.arranged = needs;
    this.root.style.minHeight = "";
    this.withStep = true;
    for (const { root } of items) root.style.flexBasis = "";
    let high = this.keepRoom(items);
    if (high.length > 0) {
      this.withStep = false;
      high = this.keepRoom(items);
    }
    const [first, last] = [items[0], items.at(-1)];
    if (!first || !last || high.length === 0) return;
    const line = lineHeight(first);
    const lines = Math.round((last.root.offsetTop + last.root.offsetHeight - first.root.offsetTop) / line);
    this.root.style.minHeight = `${lines}lh`;
    for (const { root, value } of high) {
      root.style.flexBasis = "100%";
      value.style.minWidth = "";
    }
  }

  /** Gives each text its room; returns those that it does not have beside its name. */
  private keepRoom(items: readonly Item[]): Item[] {
    for (const { value, widest } of items) value.style.minWidth = `${this.withStep ? widest.withStep : widest.without}ch`;
    const [first] = items;
    if (!first || first.root.offsetHeight === 0) return []; // not in view yet
    const line = lineHeight(first);
    return items.filter(({ root }) => root.offsetHeight > 1.5 * line);
  }

  private rebuild(curves: CurveLook[], looks: string): void {
    this.looks = looks;
    const widest = new Map([...this.items].map(([key, item]) => [key, item.widest]));
    this.items.clear();
    const { onToggle, onHighlight } = this.listener;
    const items = curves.map((curve) => {
      const value = element("span", { class: "wb-legend-value" });
      const name = element("span", { class: "wb-legend-name" }, curve.label);
      const title = `${curve.detail || curve.label}: click to hide or show`;
      const button = element("button", { type: "button", title }, lineSample(curve), name, value);
      button.addEventListener("click", () => onToggle(curve.key));
      for (const event of ["mouseenter", "focus"]) {
        button.addEventListener(event, () => onHighlight(curve.key));
      }
      for (const event of ["mouseleave", "blur"]) {
        button.addEventListener(event, () => onHighlight(null));
      }
      const root = element("li", {}, button);
      this.items.set(curve.key, { root, button, value, widest: widest.get(curve.key) ?? { withStep: 0, without: 0 } });
      return root;
    });
    this.root.replaceChildren(...items);
  }
}

function lineHeight({ button }: Item): number {
  return parseFloat(getComputedStyle(button).lineHeight);
}
