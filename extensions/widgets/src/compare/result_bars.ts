// The verdict on a comparison, and below it a bar for each run: how many times as fast it is as the
// reference, with a whisker over the interval, or its loss.

import type { RenderProps } from "@anywidget/types";
import "./result_bars.css";
import { keepViewPlaceholder } from "../app/placeholder";
import { element } from "../element";
import { widget } from "../widget";
import { verdictElement } from "./verdict";

interface Bar {
  label: string;
  /** The ratio with its interval, or the loss, as the verdict writes them. */
  text: string;
  value: number;
  /** Empty, or its two limits. */
  interval: number[];
  color: string;
  dark_color: string;
  dash: number[];
}

interface Traits {
  verdict: string;
  /** The model that was compared, where another one is chosen. */
  subject: string;
  badge: string;
  badge_line: number;
  level: string;
  /** The reference of the ratios; empty where the bars are of losses. */
  reference: string;
  /** What the bars show. */
  quantity: string;
  bars: Bar[];
  /** Number of bars that will come: they have their place, so that the charts do not move then. */
  awaited: number;
  /** Id of the view that is shown alone; empty: it is a part of a page. */
  page_id: string;
}

/** Bars further apart than this have lengths by the logarithm: otherwise the short are no lines. */
const LOG_SPREAD = 30;

/** Gives the share of the width, 0 to 1, of a value: a ratio, or a loss. */
export function barScale(values: number[]): { share: (value: number) => number; logarithmic: boolean } {
  const top = Math.max(...values);
  const bottom = Math.min(...values);
  // A loss may be 0, or negative.
  const logarithmic = bottom > 0 && top / bottom > LOG_SPREAD;
  if (!logarithmic) return { share: (value) => (top > 0 ? Math.max(0, value / top) : 0), logarithmic };
  const [low, high] = [Math.log(bottom / 2), Math.log(top)];
  return { share: (value) => Math.max(0, (Math.log(value) - low) / (high - low)), logarithmic };
}

function barRow(bar: Bar, share: (value: number) => number, reference: string): HTMLElement {
  const percent = (value: number) => `${(100 * share(value)).toFixed(2)}%`;
  const filled = element("span", { class: "wb-bar" });
  filled.style.width = percent(bar.value);
  filled.style.setProperty("--wb-line-color", bar.color);
  filled.style.setProperty("--wb-line-dark-color", bar.dark_color);
  const track = element("span", { class: "wb-bar-track", "aria-hidden": "true" }, filled);
  if (reference) {
    const one = element("span", { class: "wb-bar-one" });
    one.style.left = percent(1);
    track.append(one);
  }
  const [low, high] = bar.interval;
  if (low !== undefined && high !== undefined && bar.label !== reference) {
    const whisker = element("span", { class: "wb-whisker" });
    whisker.style.left = percent(low);
    whisker.style.width = `calc(${percent(high)} - ${percent(low)})`;
    track.append(whisker);
  }
  const label = element("dt", { class: "wb-bar-label", title: bar.label }, bar.label);
  const value = element("dd", { class: "wb-bar-value" }, bar.label === reference ? "reference" : bar.text);
  return element("div", { class: "wb-bar-row" }, label, track, value);
}

/** As much room as the bars will take. */
function room(count: number): HTMLElement {
  const empty = { label: "–", text: "–", value: 1, interval: [], color: "", dark_color: "", dash: [] };
  const rows = Array.from({ length: count }, () => barRow(empty, () => 0, ""));
  const note = element("p", { class: "wb-note" }, "–");
  return element("div", { class: "wb-bars-part wb-bars-room", "aria-hidden": "true" }, note, element("dl", { class: "wb-bars" }, ...rows));
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-result-bars");
  const update = () => {
    const bars = model.get("bars");
    const level = model.get("level");
    el.dataset["level"] = level;
    const verdict = verdictElement(model.get("verdict"), model.get("badge"), level, model.get("badge_line"));
    // Of several lines, as of recorded runs, it has the whole width.
    const beside = model.get("verdict").includes("\n") ? "wb-beside wb-below" : "wb-beside";
    const subject = model.get("subject");
    const heading = element("h2", {}, subject ? `Comparison of ${subject}` : "Comparison");
    const awaited = model.get("awaited");
    const awaits = bars.length < 2 && awaited > 1;
    el.classList.toggle("wb-awaited", awaits);
    el.style.setProperty("--wb-awaited", String(awaited));
    if (awaits) return el.replaceChildren(heading, element("div", { class: "wb-beside" }, verdict, room(awaited)));
    if (bars.length < 2) return el.replaceChildren(heading, verdict);
    const reference = model.get("reference");
    const values = bars.flatMap(({ value, interval }) => [value, ...interval]);
    const { share, logarithmic } = barScale(reference ? [...values, 1] : values);
    el.classList.toggle("wb-doubtful", level === "busy" && reference !== "");
    // Another load would have given other ratios.
    const load = level === "busy" ? " under this load" : "";
    const rows = bars.map((bar) => barRow(bar, share, reference));
    const whiskers = bars.some(({ label, interval }) => label !== reference && interval.length > 0) ? `; whiskers: 95\u00a0% interval${load}` : "";
    const note = `${model.get("quantity")}${whiskers}${logarithmic ? "; logarithmic lengths" : ""}`;
    const drawn = element("div", { class: "wb-bars-part" }, element("p", { class: "wb-note" }, note), element("dl", { class: "wb-bars" }, ...rows));
    el.replaceChildren(heading, element("div", { class: beside }, verdict, drawn));
  };
  model.on("change", update);
  model.on("change:page_id", () => keepViewPlaceholder(model, model.get("page_id")));
  keepViewPlaceholder(model, model.get("page_id"));
  update();
}

export default widget({ render });
