// Draw symbols of your own, train on them, and see them recognised.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import { onPress, setUsable } from "../focus";
import { widget } from "../widget";
import { Camera, PICTURE_SIZE } from "./recording/camera";
import { ClassChoice } from "./examples/class_choice";
import { DrawingArea } from "./recording/drawing_area";
import { showGalleryPad, spokenText } from "./gallery_pad";
import { ask, type GalleryModel, type GalleryTraits } from "./parts/pad_model";
import "./pads.css";
import { packed } from "./recording/strokes";

interface Traits extends GalleryTraits {}

/** Time between two drawings that are sent to be recognised while the pen moves, in milliseconds. */
const TRY_MS = 200;

function render({ model, el, signal }: RenderProps<Traits>): void {
  const spoken = spokenText();
  const say = (sentence: string) => {
    spoken.textContent = sentence;
  };
  showGalleryPad(model, el, spoken, signal, {
    noun: "drawing",
    make: makeSection(model, say, signal),
    tryControls: tryControls(model, say, signal),
    tryHint: "Draw one of your symbols: it is recognised while you draw.",
  });
}

/** Where drawings are made and added. */
function makeSection(model: GalleryModel, say: (sentence: string) => void, signal: AbortSignal): HTMLElement {
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
    setUsable(add, !empty && classes.value !== "");
    setUsable(undo, !empty);
    setUsable(clear, !empty);
    add.textContent = `Add to ${classes.value}`;
  };
  const area: DrawingArea = new DrawingArea("Drawing", "Draw here", { onChange: update, onEnter: addDrawing, say });
  const classes = new ClassChoice(model);
  onPress(add, addDrawing);
  onPress(undo, () => area.undo());
  onPress(clear, () => area.clear());
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

/** Where a new drawing is made, which is recognised while it is drawn. */
function tryControls(model: GalleryModel, say: (sentence: string) => void, signal: AbortSignal): HTMLElement {
  let timer = 0;
  const recognise = () => {
    timer = 0;
    const { lengths, points } = packed(area.drawing);
    ask(model, { kind: "recognise_drawing", lengths }, points);
  };
  const area: DrawingArea = new DrawingArea("Drawing to recognise", "Draw here", {
    onChange: () => {
      setUsable(clear, area.drawing.length > 0);
      timer ||= window.setTimeout(recognise, TRY_MS);
    },
    onEnter: recognise,
    say,
  });
  const clear = element("button", { type: "button", "aria-disabled": "true" }, "Clear");
  onPress(clear, () => area.clear());
  const camera = new Camera(
    "Recognise picture",
    (pixels) => ask(model, { kind: "recognise_picture", width: PICTURE_SIZE, height: PICTURE_SIZE }, pixels),
    signal,
  );
  signal.addEventListener("abort", () => window.clearTimeout(timer));
  return element("div", {}, area.root, element("div", { class: "wb-row" }, clear), camera.root);
}

export default widget({ render });
