// The legend of one chart: each engine's line, name and value. Only the values change between runs,
// and only they are touched, several times a second.

import { element } from "./element";
import { lineSample } from "./theme";

export class Legend {
  readonly root = element("ul", { class: "wb-legend" });
  private engines = "";
  private readonly values = new Map<string, HTMLElement>();

  /** Shows `engines` in this order with the text that `valueOf` gives for each. */
  update(engines: string[], valueOf: (engine: string) => string): void {
    if (engines.join() !== this.engines) this.rebuild(engines);
    for (const [engine, value] of this.values) {
      const text = valueOf(engine);
      if (value.textContent !== text) value.textContent = text;
    }
  }

  private rebuild(engines: string[]): void {
    this.engines = engines.join();
    this.values.clear();
    const items = engines.map((engine) => {
      const value = element("span", { class: "wb-legend-value" });
      this.values.set(engine, value);
      const name = element("span", { class: "wb-legend-name" }, engine);
      return element("li", {}, lineSample(engine), name, value);
    });
    this.root.replaceChildren(...items);
  }
}
