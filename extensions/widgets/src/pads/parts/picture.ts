// Small grey pictures, as the model sees them.

import { element } from "../../element";
import { bytesOf } from "./pad_model";

/** A canvas with picture `index` of `pictures`, each `width` by `height` bytes: 0 paper, 255 ink. */
export function picture(pictures: DataView | undefined, index: number, size: number[]): HTMLCanvasElement {
  const [width = 0, height = 0] = size;
  const canvas = element("canvas", { class: "wb-ink", "aria-hidden": "true" });
  canvas.width = width;
  canvas.height = height;
  const values = bytesOf(pictures).subarray(index * width * height, (index + 1) * width * height);
  const context = canvas.getContext("2d");
  if (!context || values.length !== width * height || values.length === 0) return canvas;
  // Ink is black and as opaque as it is strong: the style sheet inverts it on a dark page.
  const image = context.createImageData(width, height);
  values.forEach((value, pixel) => {
    image.data[4 * pixel + 3] = value;
  });
  context.putImageData(image, 0, 0);
  return canvas;
}
