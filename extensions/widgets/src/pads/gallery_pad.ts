// What the pads of drawings and of sounds show alike: examples, training, results, trial, export.

import { element } from "../element";
import { exportSection } from "./training/export_section";
import { fileExchange } from "./examples/file_exchange";
import { Gallery } from "./examples/gallery";
import { type GalleryModel, padRoot } from "./parts/pad_model";
import { Recognition } from "./training/recognition";
import { Results } from "./training/results";
import { trainSection } from "./training/train_section";

interface Parts {
  /** What an example is called: "drawing". */
  noun: string;
  /** Where examples are made. */
  make: HTMLElement;
  /** Where a new example is made for the model to recognise. */
  tryControls: HTMLElement;
  /** What to do there. */
  tryHint: string;
  /** Plays the example of that id, where it can be played. */
  play?: (id: number) => void;
}

/** Fills `el`; `spoken` is what the pad reads aloud. */
export function showGalleryPad(model: GalleryModel, el: HTMLElement, spoken: HTMLElement, signal: AbortSignal, parts: Parts): void {
  padRoot(el);
  const gallery = new Gallery(model, parts.noun, parts.play);
  gallery.root.append(fileExchange(model, signal));
  el.append(
    element("div", { class: "wb-pad-top" }, parts.make, gallery.root),
    trainSection(model, "Fine-tune on examples"),
    new Results(model, parts.noun).root,
    trySection(model, parts, signal),
    exportSection(model),
    spoken,
  );
}

/** Where something new is recognised; hidden while there is no trained model. */
function trySection(model: GalleryModel, { tryControls, tryHint }: Parts, signal: AbortSignal): HTMLElement {
  const recognition = new Recognition(model, tryHint, signal);
  const parts = element("div", { class: "wb-try-parts" }, tryControls, recognition.root);
  const root = element("section", { class: "wb-try", "aria-label": "Try it" }, element("h2", {}, "Try it"), parts);
  const update = () => {
    root.hidden = !model.get("ready");
  };
  model.on("change:ready", update);
  update();
  return root;
}

/** An element whose text is read aloud and not shown. */
export function spokenText(): HTMLElement {
  return element("div", { class: "wb-spoken", "aria-live": "polite" });
}
