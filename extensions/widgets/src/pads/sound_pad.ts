// Record short words of your own, train on them, and see them recognised.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import { widget } from "../widget";
import { ClassChoice } from "./examples/class_choice";
import { MOST_BYTES } from "./examples/file_exchange";
import { showGalleryPad, spokenText } from "./gallery_pad";
import { Microphone } from "./recording/microphone";
import { ask, bytesOf, type GalleryTraits, onMessage } from "./parts/pad_model";
import "./pads.css";
import { decoded, play } from "./recording/waveform";

interface Traits extends GalleryTraits {}

/** Samples a second of files as they are sent; the model is content with less. */
const FILE_RATE = 16_000;

/** What is done with a new sound. */
type Use = (samples: Float32Array, rate: number) => void;

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb-sound-pad");
  const spoken = spokenText();
  const classes = new ClassChoice(model);
  const add: Use = (samples, rate) => {
    ask(model, { kind: "add_sound", label: classes.value, rate }, samples);
    spoken.textContent = `Added a recording of ${classes.value}.`;
  };
  const recognise: Use = (samples, rate) => ask(model, { kind: "recognise_sound", rate }, samples);
  // The sound comes to every view of the pad; the one that asked plays it.
  let asked = false;
  onMessage(model, signal, (content, buffers) => {
    if (content["kind"] !== "sound" || !asked) return;
    asked = false;
    play(new Float32Array(bytesOf(buffers[0]).slice().buffer), Number(content["rate"]));
  });
  showGalleryPad(model, el, spoken, signal, {
    noun: "recording",
    make: element(
      "section",
      { class: "wb-make", "aria-label": "New recording" },
      classes.root,
      sources("Record", add, true, signal),
    ),
    tryControls: sources("Listen", recognise, false, signal),
    tryHint: "Say one of your words: the model says which it was.",
    play: (id) => {
      asked = true;
      ask(model, { kind: "play", id });
    },
  });
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
    if (file.size > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES / 1e6}\u00a0MB.`);
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

export default widget({ render });
