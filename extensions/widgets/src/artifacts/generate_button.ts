// Generates the artifacts.

import type { RenderProps } from "@anywidget/types";
import { isKernelGone, onKernelGone } from "../app/kernel";
import { element } from "../element";
import "./generate_button.css";

interface Traits {
  enabled: boolean;
  label: string;
  /** Whether graphs were generated, which stand further below. */
  has_graphs: boolean;
}

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-generate");
  const button = element("button", { type: "button", class: "wb-button" });
  const show = element("button", { type: "button", class: "wb-toggle" }, "Show the graphs ↓");
  el.append(button, show);
  show.addEventListener("click", () => {
    const graphs = el.closest(".wb-step-panel")?.querySelector<HTMLElement>(".wb-graphs");
    graphs?.scrollIntoView({ block: "start" });
    graphs?.querySelector<HTMLElement>("[tabindex='0'], button, input")?.focus({ preventScroll: true });
  });
  let gone = false;
  const update = () => {
    const [, name = "", explanation = ""] = /^(.*?)(: .*)?$/.exec(model.get("label")) ?? [];
    button.replaceChildren(element("span", {}, name, element("span", { class: "wb-explanation" }, explanation)));
    show.hidden = !model.get("has_graphs");
    button.setAttribute("aria-disabled", String(gone || !model.get("enabled")));
  };
  button.addEventListener("click", () => {
    if (isKernelGone(el) || button.getAttribute("aria-disabled") === "true") return;
    model.send({ kind: "press" });
  });
  model.on("change", update);
  const lose = () => {
    gone = true;
    update();
  };
  onKernelGone(model, lose, signal);
  update();
}

export default { render };
