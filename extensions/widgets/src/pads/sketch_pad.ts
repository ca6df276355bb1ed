// Draw symbols of your own, train on them, and see them recognised.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import { Camera, PICTURE_SIZE } from "./camera";
import { ClassChoice } from "./class_choice";
import { DrawingArea } from "./drawing_area";
import { exportSection } from "./export_section";
import { fileExchange } from "./file_exchange";
import { Gallery } from "./gallery";
import { ask, galleryModel, type HeldOut, type Item, padRoot, type Recognised, type Score } from "./pad_model";
import "./pads.css";
import { Recognition } from "./recognition";
import { Results } from "./results";
import { packed } from "./strokes";
import { trainSection } from "./train_section";

interface Traits {
  /** Names of the classes, in the order shown. */
  classes: string[];
  items: Item[];
  /** One picture an item, in their order: bytes, 0 paper to 255 ink. */
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

/** Time between two drawings that are sent to be recognised while the pen moves, in milliseconds. */
const TRY_MS = 200;

function render({ model: own, el, signal }: RenderProps<Traits & Record<string, unknown>>): void {
  const model = galleryModel(own);
  padRoot(el);
  const spoken = element("div", { class: "wb-spoken", "aria-live": "polite" });
  const say = (sentence: string) => {
    spoken.textContent = sentence;
  };
  const make = makeSection(model, say, signal);
  const gallery = new Gallery(model, "drawing");
  gallery.root.append(fileExchange(model, signal));
  el.append(
    element("div", { class: "wb-pad-top" }, make, gallery.root),
    trainSection(model),
    new Results(model, "drawing").root,
    trySection(model, say, signal),
    exportSection(model),
    spoken,
  );
}

/** Where drawings are made and added. */
function makeSection(
  model: ReturnType<typeof galleryModel>,
  say: (sentence: string) => void,
  signal: AbortSignal,
): HTMLElement {
  const add = element("button", { type: "button", class: "wb-primary" });
  const undo = element("button", { type: "button" }, "Undo stroke");
  const clear = element("button", { type: "button" }, "Clear");
  const addDrawing = () => {
    const { lengths, points } = packed(area.drawing);
    if (lengths.length === 0) return;
    ask(model, { kind: "add_drawing", label: classes.value, lengths }, points);
    say(`Added a drawing of ${classes.value}.`);
    area.clear();
  };
  const update = () => {
    const empty = area.drawing.length === 0;
    add.disabled = empty || !classes.value;
    undo.disabled = empty;
    clear.disabled = empty;
    add.textContent = `Add to ${classes.value}`;
  };
  const area: DrawingArea = new DrawingArea("Drawing", "Draw here", { onChange: update, onEnter: addDrawing, say });
  const classes = new ClassChoice(model);
  add.addEventListener("click", addDrawing);
  undo.addEventListener("click", () => area.undo());
  clear.addEventListener("click", () => area.clear());
  // Number keys choose the class while drawing.
  area.root.addEventListener("keydown", (event) => {
    const index = "123456789".indexOf(event.key);
    if (event.key.length === 1 && index >= 0) classes.choose(index);
  });
  const camera = new Camera(
    "Add picture",
    (pixels) => {
      const size = { width: PICTURE_SIZE, height: PICTURE_SIZE };
      ask(model, { kind: "add_picture", label: classes.value, ...size }, pixels);
      say(`Added a picture of ${classes.value}.`);
    },
    signal,
  );
  classes.onChange = update;
  update();
  return element(
    "section",
    { class: "wb-make", "aria-label": "New drawing" },
    classes.root,
    area.root,
    element("div", { class: "wb-row" }, add, undo, clear),
    camera.root,
  );
}

/** Where a new drawing is recognised while it is drawn. */
function trySection(
  model: ReturnType<typeof galleryModel>,
  say: (sentence: string) => void,
  signal: AbortSignal,
): HTMLElement {
  let timer = 0;
  const recognise = () => {
    timer = 0;
    const { lengths, points } = packed(area.drawing);
    ask(model, { kind: "recognise_drawing", lengths }, points);
  };
  const area: DrawingArea = new DrawingArea("Drawing to recognise", "Draw here", {
    onChange: () => {
      clear.disabled = area.drawing.length === 0;
      timer ||= window.setTimeout(recognise, TRY_MS);
    },
    onEnter: recognise,
    say,
  });
  const clear = element("button", { type: "button", disabled: "" }, "Clear");
  clear.addEventListener("click", () => area.clear());
  const camera = new Camera(
    "Recognise picture",
    (pixels) => ask(model, { kind: "recognise_picture", width: PICTURE_SIZE, height: PICTURE_SIZE }, pixels),
    signal,
  );
  const recognition = new Recognition(model, "Draw one of your symbols: it is recognised while you draw.", signal);
  const root = element(
    "section",
    { class: "wb-try", "aria-label": "Try it" },
    element("h2", {}, "Try it"),
    element(
      "div",
      { class: "wb-try-parts" },
      element("div", {}, area.root, element("div", { class: "wb-row" }, clear), camera.root),
      recognition.root,
    ),
  );
  const update = () => {
    root.hidden = !model.get("ready");
  };
  model.on("change:ready", update);
  signal.addEventListener("abort", () => window.clearTimeout(timer));
  update();
  return root;
}

export default { render };
