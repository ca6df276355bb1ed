// The memory that training takes on a device, part by part, and what is being done meanwhile.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import { formatBytes } from "../number_format";
import "./footprint_view.css";
import { widget } from "../widget";

interface Part {
  name: string;
  /** -1: not known before the artifacts are generated. */
  bytes: number;
}

interface Traits {
  parts: Part[];
  summary: string;
  /** The current activity; empty if there is none. */
  doing: string;
  problem: string;
  /** Whether settings have changed since. */
  outdated: boolean;
}

const HINT =
  "The memory of training the chosen model on a device appears here: parameters, gradients, optimizer " +
  "state, activations and ONNX Runtime itself.";

/** A part that is so many times as large as the next is shortened, as the others could not be told apart. */
const FAR_LARGER = 5;
/** The share of the width that the next has then. */
const NEXT_SHARE = 0.7;

/** The bytes of a bar of the whole width. */
function lengthOf(sizes: number[]): number {
  const [largest = 1, next = 0] = [...sizes].sort((a, b) => b - a);
  return Math.max(1, next > 0 && largest > FAR_LARGER * next ? next / NEXT_SHARE : largest);
}

/** A bar of a share of the width; one above 1 is shortened. */
function barOf(share: number): HTMLElement {
  const bar = element("span", { class: "wb-part-bar", "aria-hidden": "true" });
  bar.style.setProperty("--wb-share", String(Math.min(1, share)));
  if (share > 1) {
    bar.classList.add("wb-broken");
    bar.title = `Shortened: drawn as the others it would be ${Math.round(share)} times as long`;
  }
  return bar;
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-footprint-view");
  const doing = element("p", { class: "wb-doing" });
  const body = element("div", { class: "wb-footprint-body" });
  // In one line: nothing below it moves while it is predicted.
  el.append(element("div", { class: "wb-footprint-head" }, element("h2", {}, "Predicted memory"), doing), body);

  const update = () => {
    const problem = model.get("problem");
    const parts = model.get("parts");
    const outdated = model.get("outdated") && parts.length > 0 ? "Outdated: settings have changed since." : "";
    doing.textContent = model.get("doing") ? `${model.get("doing")} …` : outdated;
    doing.hidden = !doing.textContent;
    body.classList.toggle("wb-outdated", model.get("outdated") || Boolean(model.get("doing")));
    if (problem) {
      body.replaceChildren(element("p", { class: "wb-problem", role: "alert" }, problem));
      return;
    }
    if (parts.length === 0) {
      body.replaceChildren(element("p", { class: "wb-hint" }, model.get("doing") ? "" : HINT));
      return;
    }
    const full = lengthOf(parts.map(({ bytes }) => bytes));
    const list = element("ul", { "aria-label": "Parts of the memory" });
    for (const { name, bytes } of parts) {
      const known = bytes >= 0;
      const bar = known ? barOf(bytes / full) : element("span", { class: "wb-later" }, "not known yet");
      const size = element("span", {}, known ? formatBytes(bytes) : "?");
      list.append(element("li", {}, element("span", {}, name), bar, size));
    }
    body.replaceChildren(list, element("p", {}, model.get("summary")));
  };
  model.on("change", update);
  update();
}

export default widget({ render });
