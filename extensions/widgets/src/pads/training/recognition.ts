// What the trained model takes something new for: bars, and a sentence that is read aloud.

import { element } from "../../element";
import { bars, percent } from "../parts/bars";
import type { GalleryModel } from "../parts/pad_model";
import { problemArea } from "../parts/problem_area";

/** How long probabilities must stand still before they are read aloud, in milliseconds. */
const QUIET_MS = 700;

export class Recognition {
  readonly root: HTMLElement;
  private readonly shown = element("div");
  private readonly spoken = element("p", { class: "wb-spoken", "aria-live": "polite" });
  private timer = 0;

  constructor(
    private readonly model: GalleryModel,
    /** What to do to see something. */
    private readonly hint: string,
    signal: AbortSignal,
  ) {
    this.root = element("div", { class: "wb-recognition" }, problemArea(model, "try"), this.shown, this.spoken);
    model.on("change:recognised", () => this.update());
    signal.addEventListener("abort", () => window.clearTimeout(this.timer));
    this.update();
  }

  private update(): void {
    const recognised = this.model.get("recognised");
    const [best] = [...recognised].sort((a, b) => b.probability - a.probability);
    const sentence = best ? `Recognised as ${best.name}, ${percent(best.probability)}` : "";
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      if (this.spoken.textContent !== sentence) this.spoken.textContent = sentence;
    }, QUIET_MS);
    if (best) {
      this.shown.replaceChildren(element("p", { class: "wb-verdict" }, best.name), bars(recognised));
    } else this.shown.replaceChildren(element("p", { class: "wb-hint" }, this.hint));
  }
}
