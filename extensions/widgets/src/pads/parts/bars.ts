// Probabilities of the classes as bars, with their values as text beside.

import { element } from "../../element";
import type { Recognised } from "./pad_model";

/** Bars in the order of `recognised`; the largest stands out by its weight, not by colour alone. */
export function bars(recognised: Recognised[]): HTMLElement {
  const largest = Math.max(...recognised.map(({ probability }) => probability));
  const rows = recognised.map(({ name, probability }) => {
    const text = percent(probability);
    const meter = element("span", {
      class: "wb-bar",
      role: "meter",
      "aria-label": name,
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-valuenow": String(Math.round(100 * probability)),
      "aria-valuetext": text,
    });
    const fill = element("span", { class: "wb-bar-fill" });
    fill.style.width = `${100 * probability}%`;
    meter.append(fill);
    return element(
      "li",
      { class: probability === largest ? "wb-largest" : "" },
      element("span", { class: "wb-bar-name" }, name),
      meter,
      element("span", { class: "wb-bar-value" }, text),
    );
  });
  return element("ul", { class: "wb-bars" }, ...rows);
}

/** 97 % · 0.4 % · 99.6 %; never a rounded 0 % or 100 % for what is neither. */
export function percent(share: number): string {
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "< 0.1\u00a0%";
  if (value < 100 && value > 99.9) return "> 99.9\u00a0%";
  const nearEnd = (value > 0 && value < 10) || (value > 99 && value < 100);
  return `${value.toFixed(nearEnd ? 1 : 0)}\u00a0%`;
}
