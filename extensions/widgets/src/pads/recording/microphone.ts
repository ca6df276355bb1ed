// Records short sounds by the microphone, where there is one, and shows how loud it is.

import { element } from "../../element";
import { onPress, setUsable } from "../../focus";
import { closeDevice, openDevice, refusal } from "./device_refusal";
import { joined, rootMeanSquare } from "./waveform";

/** Length of a recording in seconds; of it the kernel keeps the loudest second. */
const LENGTH_S = 1.6;

/** Loudness at the left end of the meter, in decibels below full scale. */
const QUIETEST_DB = -60;

const MEANWHILE = "Importing audio files continues without it.";

/** Runs on the audio thread: hands every block of samples on. */
const COLLECTOR = `registerProcessor("wb-collector", class extends AudioWorkletProcessor {
  process(inputs) {
    const channel = inputs[0]?.[0];
    if (channel) this.port.postMessage(channel.slice());
    return true;
  }
});`;

export class Microphone {
  readonly root: HTMLElement;
  private readonly button: HTMLButtonElement;
  private readonly meter = element("div", {
    class: "wb-level",
    role: "meter",
    "aria-label": "Loudness",
    "aria-valuemin": String(QUIETEST_DB),
    "aria-valuemax": "0",
    "aria-valuenow": String(QUIETEST_DB),
    "aria-valuetext": "not recording",
  });
  private readonly level = element("div", { class: "wb-level-fill" });
  private readonly problem = element("p", { class: "wb-problem", role: "alert", hidden: "" });
  private stream: MediaStream | null = null;
  private context: AudioContext | null = null;

  /**
   * @param verb the text of its button.
   * @param onSound gets the samples and their rate in samples per second.
   */
  constructor(
    private readonly verb: string,
    private readonly onSound: (samples: Float32Array, rate: number) => void,
    signal: AbortSignal,
  ) {
    this.button = element("button", { type: "button", class: "wb-record" }, verb);
    this.meter.append(this.level);
    this.root = element("div", {}, element("div", { class: "wb-row" }, this.button, this.meter), this.problem);
    onPress(this.button, () => void this.record());
    signal.addEventListener("abort", () => this.close());
  }

  private async record(): Promise<void> {
    this.problem.hidden = true;
    setUsable(this.button, false);
    try {
      const { samples, rate } = await this.capture(LENGTH_S);
      this.onSound(samples, rate);
    } catch (error) {
      this.problem.textContent = refusal("microphone", error, MEANWHILE);
      this.problem.hidden = false;
    } finally {
      this.close();
      setUsable(this.button, true);
      this.button.textContent = this.verb;
    }
  }

  private async capture(seconds: number): Promise<{ samples: Float32Array; rate: number }> {
    this.stream = await openDevice({
      audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false },
    });
    const context = new AudioContext();
    this.context = context;
    await context.resume();
    const address = URL.createObjectURL(new Blob([COLLECTOR], { type: "text/javascript" }));
    try {
      await context.audioWorklet.addModule(address);
    } finally {
      URL.revokeObjectURL(address);
    }
    const source = context.createMediaStreamSource(this.stream);
    const collector = new AudioWorkletNode(context, "wb-collector", { numberOfOutputs: 0 });
    const parts: Float32Array[] = [];
    const wanted = Math.ceil(seconds * context.sampleRate);
    this.button.textContent = "Speak now";
    return new Promise((resolve) => {
      let count = 0;
      collector.port.onmessage = (event: MessageEvent<Float32Array>) => {
        if (count >= wanted) return;
        parts.push(event.data);
        count += event.data.length;
        // Some 128 samples a message: the meter shows the last 20 or so.
        if (parts.length % 20 === 0) this.show(rootMeanSquare(joined(parts.slice(-20))));
        if (count >= wanted) resolve({ samples: joined(parts), rate: context.sampleRate });
      };
      source.connect(collector);
    });
  }

  private show(level: number): void {
    const decibels = Math.max(20 * Math.log10(level + 1e-9), QUIETEST_DB);
    this.level.style.width = `${100 * (1 - Math.min(decibels, 0) / QUIETEST_DB)}%`;
    this.meter.setAttribute("aria-valuenow", String(Math.round(decibels)));
    this.meter.setAttribute("aria-valuetext", `${Math.round(decibels)} decibels below full scale`.replace("-", ""));
  }

  private close(): void {
    closeDevice(this.stream);
    this.stream = null;
    void this.context?.close();
    this.context = null;
    this.level.style.width = "0";
    this.meter.setAttribute("aria-valuetext", "not recording");
  }
}
