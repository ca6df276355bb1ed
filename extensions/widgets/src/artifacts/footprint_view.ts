// The memory that training takes on a device, part by part, and what is being done meanwhile.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import { formatBytes } from "../number_format";
import "./footprint_view.css";

interface Part {
  name: string;
  bytes: number;
}

interface Traits {
  parts: Part[];
  /** Parts that are not known before the artifacts are generated. */
  unknown: string[];
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

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-footprint-view");
  const doing = element("p", { class: "wb-doing" });
  const body = element("div", { class: "wb-footprint-body" });
  el.append(element("h2", {}, "Predicted memory"), doing, body);

  const update = () => {
    doing.textContent = model.get("doing") ? `${model.get("doing")} …` : "";
    doing.hidden = !model.get("doing");
    const problem = model.get("problem");
    const parts = model.get("parts");
    body.classList.toggle("wb-outdated", model.get("outdated") || Boolean(model.get("doing")));
    if (problem) {
      body.replaceChildren(element("p", { class: "wb-problem", role: "alert" }, problem));
      return;
    }
    if (parts.length === 0) {
      body.replaceChildren(element("p", { class: "wb-hint" }, model.get("doing") ? "" : HINT));
      return;
    }
    const largest = Math.max(1, ...parts.map(({ bytes }) => bytes));
    const list = element("ul", { "aria-label": "Parts of the memory" });
    for (const { name, bytes } of parts) {
      const bar = element("span", { class: "wb-part-bar", "aria-hidden": "true" });
      bar.style.setProperty("--wb-share", String(bytes / largest));
      list.append(element("li", {}, element("span", {}, name), bar, element("span", {}, formatBytes(bytes))));
    }
    for (const name of model.get("unknown")) {
      const later = element("span", { class: "wb-later" }, "not known yet");
      list.append(element("li", {}, element("span", {}, name), later, element("span", {}, "?")));
    }
    body.replaceChildren(list, element("p", {}, model.get("summary")));
  };
  model.on("change", update);
  update();
}

export default { render };
