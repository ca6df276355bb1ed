// Runs that a new page offers to follow or to resume, and comparisons to open.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import { keepFocus } from "../focus";
import { widget } from "../widget";
import { onKernelGone } from "./kernel";
import "./offer_list.css";

interface Offer {
  id: string;
  /** "follow", "resume", "train", "begin", "wait" or "open". */
  action: string;
  /** The state of the run, in a sentence. */
  text: string;
}

interface Traits {
  offers: Offer[];
}

const LABELS: Record<string, string> = {
  follow: "Show it",
  resume: "Resume",
  open: "Show it",
  train: "Train the rest",
  begin: "Train again",
};

/** A cell is to be executed first: the offer has no button until then. */
const WAIT = "wait";

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-offer-list");
  let dismissed = false;
  const answer = (kind: "accept" | "dismiss", id: string) => {
    dismissed = kind === "dismiss";
    model.send({ kind, id });
  };
  const update = () => {
    el.replaceChildren(
      ...model.get("offers").map(({ id, action, text }) => {
        const label = LABELS[action] ?? action;
        const accept = element(
          "button",
          { type: "button", class: "wb-button wb-small", "aria-label": `${label}: ${text}` },
          label,
        );
        accept.addEventListener("click", () => answer("accept", id));
        const dismiss = element(
          "button",
          { type: "button", class: "wb-toggle", "aria-label": `Not now: ${text}` },
          "Not now",
        );
        dismiss.addEventListener("click", () => answer("dismiss", id));
        const buttons = action === WAIT ? [dismiss] : [accept, dismiss];
        return element("div", { class: "wb-notice wb-offer" }, element("span", {}, text), ...buttons);
      }),
    );
  };
  // An offer that was answered is gone: the focus goes to the next one, after the last to what controls a run, or
  // begins one.
  const control = (name: string) => el.closest(".wb-page")?.querySelector<HTMLElement>(`.wb-controls ${name}:not([hidden])`);
  const next = () => el.querySelector("button") ?? (dismissed ? control(".wb-train") : null) ?? control(".wb-pause");
  model.on("change:offers", () => keepFocus(el, update, next));
  // A new page offers what there is then.
  onKernelGone(model, () => el.replaceChildren(), signal);
  update();
}

export default widget({ render });
