// Pictures by the webcam, where there is one.

import { element } from "../../element";
import { onPress, setUsable } from "../../focus";
import { closeDevice, openDevice, refusal } from "./device_refusal";

/** Width and height of a picture as it is sent, in pixels. */
export const PICTURE_SIZE = 96;

const MEANWHILE = "Drawing continues without it.";

export class Camera {
  readonly root: HTMLElement;
  private readonly video = element("video", { muted: "", playsinline: "", "aria-label": "Camera" });
  private readonly box: HTMLElement;
  private readonly take: HTMLButtonElement;
  private readonly open = element("button", { type: "button", class: "wb-small" }, "Use the camera");
  private readonly problem = element("p", { class: "wb-problem", role: "alert", hidden: "" });
  private stream: MediaStream | null = null;

  /**
   * @param verb what its button does, such as "Add picture".
   * @param onPicture gets a square of grey values, 0 black to 255 white.
   */
  constructor(
    verb: string,
    private readonly onPicture: (pixels: Uint8Array) => void,
    signal: AbortSignal,
  ) {
    this.take = element("button", { type: "button" }, verb);
    const close = element("button", { type: "button", class: "wb-small" }, "Close the camera");
    this.video.muted = true;
    this.box = element("div", { class: "wb-camera", hidden: "" }, this.video, element("div", { class: "wb-row" }, this.take, close));
    this.root = element("div", {}, this.open, this.box, this.problem);
    onPress(this.open, () => void this.start());
    close.addEventListener("click", () => {
      this.stop();
      this.open.focus();
    });
    this.take.addEventListener("click", () => {
      const pixels = squareOf(this.video);
      if (pixels) this.onPicture(pixels);
    });
    signal.addEventListener("abort", () => this.stop());
  }

  private async start(): Promise<void> {
    this.problem.hidden = true;
    setUsable(this.open, false);
    try {
      this.stream = await openDevice({ video: { width: { ideal: 640 }, height: { ideal: 480 } } });
      this.video.srcObject = this.stream;
      this.box.hidden = false;
      if (document.activeElement === this.open) this.take.focus();
      this.open.hidden = true;
      await this.video.play();
    } catch (error) {
      this.stop();
      this.problem.textContent = refusal("camera", error, MEANWHILE);
      this.problem.hidden = false;
    } finally {
      setUsable(this.open, true);
    }
  }

  private stop(): void {
    closeDevice(this.stream);
    this.stream = null;
    this.video.srcObject = null;
    this.box.hidden = true;
    this.open.hidden = false;
  }
}

/** The middle square of what `video` shows now, in grey; null while it shows nothing. */
function squareOf(video: HTMLVideoElement): Uint8Array | null {
  const { videoWidth: width, videoHeight: height } = video;
  const side = Math.min(width, height);
  const canvas = element("canvas");
  canvas.width = PICTURE_SIZE;
  canvas.height = PICTURE_SIZE;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context || side === 0) return null;
  context.imageSmoothingQuality = "high";
  const [left, top] = [(width - side) / 2, (height - side) / 2];
  context.drawImage(video, left, top, side, side, 0, 0, PICTURE_SIZE, PICTURE_SIZE);
  return greyOf(context.getImageData(0, 0, PICTURE_SIZE, PICTURE_SIZE).data);
}

/** Luma of RGBA pixels (ITU-R BT.601), 0 to 255. */
export function greyOf(rgba: Uint8ClampedArray): Uint8Array {
  return Uint8Array.from({ length: rgba.length / 4 }, (_, pixel) => {
    const [red, green, blue] = rgba.subarray(4 * pixel, 4 * pixel + 3) as unknown as [number, number, number];
    return Math.round(0.299 * red + 0.587 * green + 0.114 * blue);
  });
}
