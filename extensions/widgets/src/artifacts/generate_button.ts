// Generates the artifacts.

import type { RenderProps } from "@anywidget/types";
import { isKernelGone, onKernelGone } from "../app/kernel";
import { element } from "../element";
import "./generate_button.css";
import { widget } from "../widget";

interface Traits {
  enabled: boolean;
  label: string;
  /** Whether pressing it is what the step is for, until there are graphs. */
  primary: boolean;
  /** Whether graphs were generated, which stand further below. */
  has_graphs: boolean;
  /** Counts how often the graphs were asked for elsewhere: they are scrolled to once they are there. */
  asked: number;
}

/** How often the graphs, which JupyterLab renders when there are some, are looked for, in milliseconds. */
const LOOK_EVERY = 50;
const LOOKS = 100;

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-generate");
  const button = element("button", { type: "button", class: "wb-button" });
  const show = element("button", { type: "button", class: "wb-toggle" }, "Show the graphs ↓");
  el.append(button, show);
  const lead = (looks: number) => {
    if (signal.aborted) return;
    const graphs = el.closest(".wb-step-panel")?.querySelector<HTMLElement>(".wb-graphs");
    const first = graphs?.querySelector<HTMLElement>(".wb-graph [tabindex='0']");
    if (graphs && first?.getClientRects().length) {
      graphs.scrollIntoView({ block: "start" });
      first.focus({ preventScroll: true });
    } else if (looks > 0) setTimeout(() => lead(looks - 1), LOOK_EVERY);
  };
  show.addEventListener("click", () => lead(0));
  let asked = model.get("asked");
  /** Once there are graphs; in a view that is not looked at nothing moves. */
  const leadWhenAsked = () => {
    if (asked === model.get("asked") || !model.get("has_graphs")) return;
    asked = model.get("asked");
    // Not from where a user has gone meanwhile, such as a field.
    if (document.activeElement === null || document.activeElement.matches("body, .wb-app-bar *")) lead(LOOKS);
  };
  let gone = false;
  const update = () => {
    const [, name = "", explanation = ""] = /^(.*?)(: .*)?$/.exec(model.get("label")) ?? [];
    button.replaceChildren(element("span", {}, name, element("span", { class: "wb-explanation" }, explanation)));
    show.hidden = !model.get("has_graphs");
    button.classList.toggle("wb-primary", model.get("primary") && show.hidden);
    leadWhenAsked();
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

export default widget({ render });
