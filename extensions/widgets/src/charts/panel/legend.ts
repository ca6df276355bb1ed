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

/** Height of a line, in units of the type scale. */
const LINE = 20;

interface Item {
  root: HTMLElement;
  button: HTMLElement;
  value: HTMLElement;
  /** Letters of the longest text so far. */
  widest: number;
}

export class Legend {
  readonly root = element("ul", { class: "wb-legend" });
  private looks = "";
  /** What it was arranged for: its width, names and longest texts. */
  private arranged = "";
  private width = 0;
  private readonly items = new Map<string, Item>();

  constructor(private readonly listener: LegendListener) {}

  /** Shows `curves` in this order with the text that `valueOf` returns for each, which may have `longest` letters. */
  update(curves: CurveLook[], hidden: string[], valueOf: (key: string) => string, longest = (_: string) => 0): void {
    const looks = JSON.stringify(curves);
    if (looks !== this.looks) this.rebuild(curves, looks);
    for (const [key, item] of this.items) {
      const { button, value } = item;
      const shown = !hidden.includes(key);
      const text = shown ? valueOf(key) : "hidden";
      setText(value, text);
      item.widest = Math.max(longest(key), item.widest, text.length);
      setAttribute(button, "aria-pressed", String(shown));
    }
    this.arrange();
  }

  resize(): void {
    this.width = this.root.clientWidth;
    this.arrange();
  }

  /**
   * Keeps room for the longest texts: a legend that takes more or fewer lines while it is pointed at, or as a run ends, would
   * move the charts. Beside the names where there is that much; else below, and a text that is short enough stands beside its name.
   */
  private arrange(): void {
    const items = [...this.items.values()];
    const needs = [this.width, this.looks, ...items.map(({ widest }) => widest)].join(" ");
    if (needs === this.arranged) return;
    this.arranged = needs;
    this.root.style.minHeight = "";
    for (const { root, value, widest } of items) {
      root.style.flexBasis = "";
      value.style.minWidth = `${widest}ch`;
    }
    const [first, last] = [items[0], items.at(-1)];
    if (!first || !last || first.root.offsetHeight === 0) return; // not in view yet
    const line = parseFloat(getComputedStyle(first.button).lineHeight);
    const high = items.filter(({ root }) => root.offsetHeight > 1.5 * line);
    if (high.length === 0) return;
    const lines = Math.round((last.root.offsetTop + last.root.offsetHeight - first.root.offsetTop) / line);
    this.root.style.minHeight = `calc(${lines * LINE} * var(--wb-type-unit))`;
    for (const { root, value } of high) {
      root.style.flexBasis = "100%";
      value.style.minWidth = "";
    }
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
      this.items.set(curve.key, { root, button, value, widest: widest.get(curve.key) ?? 0 });
      return root;
    });
    this.root.replaceChildren(...items);
  }
}
