// What the views of the pads share with their Python halves.

import type { AnyModel } from "@anywidget/types";

/** One example of the user's own. */
export interface Item {
  id: number;
  label: string;
}

/** How well a model recognises what it was not trained on. */
export interface Score {
  title: string;
  /** Examples recognised. */
  right: number;
  /** Examples held out. */
  total: number;
  /** What the model took them for. */
  columns: string[];
  /** Examples by their class (row) and predicted class (column). */
  confusion: number[][];
}

/** An example that was not trained on, and what the models took it for. */
export interface HeldOut {
  label: string;
  before: string;
  after: string;
}

export interface Recognised {
  name: string;
  /** 0 to 1. */
  probability: number;
}

/** What every pad has. */
export interface PadTraits {
  level: string;
  message: string;
  detail: string;
  progress: number;
  training: boolean;
  result_note: string;
  /** Whether there is a trained model to try and to export. */
  ready: boolean;
  export_path: string;
  exported: string;
  /** Why the last command was refused, and where that is to be shown. */
  problem: string;
  problem_at: string;
}

/** What the pads of drawings and sounds have alike. */
export interface GalleryTraits extends PadTraits, Record<string, unknown> {
  /** Names of the classes, in the order shown. */
  classes: string[];
  items: Item[];
  /** One picture an item, in their order: bytes, 0 paper or silence to 255 ink or loudest. */
  thumbnails: DataView;
  /** Width and height of a thumbnail in pixels. */
  thumbnail_size: number[];
  /** Whether a change of the examples can be undone. */
  can_undo: boolean;
  results: Score[];
  result_classes: string[];
  held_out: HeldOut[];
  held_out_thumbnails: DataView;
  recognised: Recognised[];
}

export type GalleryModel = AnyModel<GalleryTraits>;

/** Makes `el` the root of a pad, whose keys are its own and not shortcuts of the notebook. */
export function padRoot(el: HTMLElement): void {
  el.classList.add("wb", "wb-pad");
  el.setAttribute("data-lm-suppress-shortcuts", "true");
}

/** What a message can be sent to: the model of any pad. */
export interface Sender {
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
}

/** Sends a command, with arrays as binary buffers. */
export function ask(model: Sender, command: Record<string, unknown>, ...arrays: (Float32Array | Uint8Array)[]): void {
  const buffers = arrays.map((array) => {
    const { buffer, byteOffset, byteLength } = array;
    return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
  });
  model.send(command, undefined, buffers);
}

/** The bytes of a binary trait or buffer, which may begin anywhere in what they came in. */
export function bytesOf(view: DataView | undefined): Uint8Array<ArrayBuffer> {
  if (!view) return new Uint8Array();
  return new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength);
}

type Listener = (content: Record<string, unknown>, buffers: DataView[]) => void;

/** Something whose messages can be listened to: the model of any pad. */
export interface Listened {
  on(event: "msg:custom", listener: Listener): void;
  off(event: "msg:custom", listener: Listener): void;
}

/** Calls `listener` for messages of the kernel until `signal` aborts. */
export function onMessage(model: Listened, signal: AbortSignal, listener: Listener): void {
  model.on("msg:custom", listener);
  signal.addEventListener("abort", () => model.off("msg:custom", listener));
}
