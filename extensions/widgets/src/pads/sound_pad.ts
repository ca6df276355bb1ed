// Record short words of your own, train on them, and see them recognised.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import { ClassChoice } from "./class_choice";
import { exportSection } from "./export_section";
import { fileExchange, MOST_BYTES } from "./file_exchange";
import { Gallery } from "./gallery";
import { Microphone } from "./microphone";
import { ask, bytesOf, type GalleryModel, galleryModel, type HeldOut, type Item, onMessage, padRoot, type Recognised, type Score } from "./pad_model";
import "./pads.css";
import { Recognition } from "./recognition";
import { Results } from "./results";
import { trainSection } from "./train_section";
import { decoded, play } from "./waveform";

interface Traits {
  /** Names of the classes, in the order shown. */
  classes: string[];
  items: Item[];
  /** One spectrogram an item, in their order: bytes, 0 silence to 255 loudest. */
  thumbnails: DataView;
  /** Width and height of a thumbnail in pixels. */
  thumbnail_size: number[];
  /** Whether a change of the examples can be undone. */
  can_undo: boolean;
  level: string;
  message: string;
  detail: string;
  progress: number;
  training: boolean;
  result_note: string;
  results: Score[];
  result_classes: string[];
  held_out: HeldOut[];
  held_out_thumbnails: DataView;
  /** Whether there is a trained model to try and to export. */
  ready: boolean;
  recognised: Recognised[];
  export_path: string;
  exported: string;
  /** Why the last command was refused, and where that is to be shown. */
  problem: string;
  problem_at: string;
}

/** Samples a second of files as they are sent; the model is content with less. */
const FILE_RATE = 16_000;

/** What is done with a new sound. */
type Use = (samples: Float32Array, rate: number) => void;

function render({ model: own, el, signal }: RenderProps<Traits & Record<string, unknown>>): void {
  const model = galleryModel(own);
  padRoot(el);
  el.classList.add("wb-sound-pad");
  const spoken = element("div", { class: "wb-spoken", "aria-live": "polite" });
  const classes = new ClassChoice(model);
  const add: Use = (samples, rate) => {
    ask(model, { kind: "add_sound", label: classes.value, rate }, samples);
    spoken.textContent = `Added a recording of ${classes.value}.`;
  };
  const make = element(
    "section",
    { class: "wb-make", "aria-label": "New recording" },
    classes.root,
    sources("Record", add, true, signal),
  );
  // The sound comes to every view of the pad; the one that asked plays it.
  let asked = false;
  const gallery = new Gallery(model, "recording", (id) => {
    asked = true;
    ask(model, { kind: "play", id });
  });
  gallery.root.append(fileExchange(model, signal));
  onMessage(model, signal, (content, buffers) => {
    if (content["kind"] !== "sound" || !asked) return;
    asked = false;
    play(new Float32Array(bytesOf(buffers[0]).slice().buffer), Number(content["rate"]));
  });
  el.append(
    element("div", { class: "wb-pad-top" }, make, gallery.root),
    trainSection(model),
    new Results(model, "recording").root,
    trySection(model, signal),
    exportSection(model),
    spoken,
  );
}

/** A microphone and audio files, as sources of new sounds. */
function sources(verb: string, use: Use, several: boolean, signal: AbortSignal): HTMLElement {
  const microphone = new Microphone(`${verb} 1 s`, use, signal);
  const problem = element("p", { class: "wb-problem", role: "alert", hidden: "" });
  const field = element("input", {
    type: "file",
    accept: "audio/*,.wav",
    hidden: "",
    "aria-label": several ? "Audio files to add" : "Audio file to recognise",
  });
  field.multiple = several;
  const name = several ? "Import audio files" : "Recognise a file";
  const choose = element("button", { type: "button", class: "wb-small" }, name);
  choose.addEventListener("click", () => field.click());
  const take = async (file: File) => {
    if (file.size > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES / 1e6} MB.`);
    use(await decoded(await file.arrayBuffer(), FILE_RATE), FILE_RATE);
  };
  field.addEventListener("change", () => {
    const files = [...(field.files ?? [])];
    field.value = "";
    problem.hidden = true;
    for (const file of files) {
      take(file).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        problem.textContent = `${file.name} cannot be read as sound: ${reason}`;
        problem.hidden = false;
      });
    }
  });
  return element("div", { class: "wb-sources" }, microphone.root, element("div", { class: "wb-row" }, choose, field), problem);
}

/** Where a new recording is recognised. */
function trySection(model: GalleryModel, signal: AbortSignal): HTMLElement {
  const recognise: Use = (samples, rate) => ask(model, { kind: "recognise_sound", rate }, samples);
  const recognition = new Recognition(model, "Say one of your words: the model says which it was.", signal);
  const root = element(
    "section",
    { class: "wb-try", "aria-label": "Try it" },
    element("h2", {}, "Try it"),
    element("div", { class: "wb-try-parts" }, sources("Listen", recognise, false, signal), recognition.root),
  );
  const update = () => {
    root.hidden = !model.get("ready");
  };
  model.on("change:ready", update);
  update();
  return root;
}

export default { render };
