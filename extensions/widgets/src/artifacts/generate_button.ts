// Generates the artifacts.

import type { RenderProps } from "@anywidget/types";
import { isKernelGone, onKernelGone } from "../app/kernel";
import { element } from "../element";
import "./generate_button.css";

interface Traits {
  enabled: boolean;
  label: string;
}

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-generate");
  const button = element("button", { type: "button", class: "wb-button" });
  el.append(button);
  let gone = false;
  const update = () => {
    button.textContent = model.get("label");
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
