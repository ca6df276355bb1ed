// The buttons of the page. One that cannot be pressed now says so, and keeps the focus.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import "./controls.css";
import { widget } from "../widget";
import { onConnection, onKernelGone } from "./kernel";
import { showRefusedField } from "./settings_link";

interface Button {
  name: string;
  /** Its text. */
  label: string;
  enabled: boolean;
  shown: boolean;
  /** Its tooltip. */
  hint: string;
}

interface Traits {
  buttons: Button[];
}

/** Of which one at a time is shown: the focus goes from one to the other. */
const TWINS: Record<string, string> = { Pause: "Resume", Resume: "Pause" };

/** The steps that begin what a button begins. */
const STARTED_IN: Record<string, string> = { Train: "train", Compare: "compare" };

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-controls");
  el.setAttribute("role", "toolbar");
  el.setAttribute("aria-label", "Training");
  const buttons = new Map<string, HTMLButtonElement>();
  let [gone, offline] = [false, false];

  const press = (name: string) => {
    if (buttons.get(name)?.getAttribute("aria-disabled") === "true") return;
    model.send({ kind: "press", name });
    // What is refused is shown where it can be mended.
    const step = STARTED_IN[name];
    if (step) showRefusedField(el.closest(`.wb-page[data-step="${step}"], .wb-page.wb-alone`)?.querySelector(`.wb-step-${step}`));
  };

  const update = () => {
    for (const { name, label, enabled, shown, hint } of model.get("buttons")) {
      let button = buttons.get(name);
      if (!button) {
        const kind = name.toLowerCase().replace(" ", "-");
        const mark = element("span", { class: "wb-button-mark", "aria-hidden": "true" });
        const text = element("span", { class: "wb-button-text" });
        button = element("button", { type: "button", class: `wb-button wb-${kind}` }, mark, text);
        button.addEventListener("click", () => press(name));
        buttons.set(name, button);
        el.append(button);
      }
      const text = button.querySelector(".wb-button-text") as HTMLElement;
      if (text.textContent !== label) text.textContent = label;
      button.title = hint;
      button.setAttribute("aria-disabled", String(gone || offline || !enabled));
      button.hidden = !shown;
    }
  };
  const updateWithFocus = () => {
    const focused = document.activeElement;
    const name = [...buttons].find(([, button]) => button === focused)?.[0];
    update();
    if (name !== undefined && buttons.get(name)?.hidden) buttons.get(TWINS[name] ?? "")?.focus();
  };
  model.on("change:buttons", updateWithFocus);
  const lose = () => {
    gone = true;
    update();
  };
  const connection = (lost: boolean) => {
    offline = lost;
    update();
  };
  onConnection(model, connection, signal);
  onKernelGone(model, lose, signal);
  update();
}

export default widget({ render });
