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

export class Legend {
  readonly root = element("ul", { class: "wb-legend" });
  private looks = "";
  private readonly items = new Map<string, { button: HTMLElement; value: HTMLElement; widest: number }>();

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
      // Room for its longest text: a legend that takes more or fewer lines while it is pointed at,
      // or as a run ends, would move the charts.
      item.widest = Math.max(longest(key), item.widest, text.length);
      setAttribute(value, "style", `min-width: ${item.widest}ch`);
      setAttribute(button, "aria-pressed", String(shown));
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
      this.items.set(curve.key, { button, value, widest: widest.get(curve.key) ?? 0 });
      return element("li", {}, button);
    });
    this.root.replaceChildren(...items);
  }
}
