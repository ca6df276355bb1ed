// The button that begins a training, and what is being done or went wrong.

import { element } from "../../element";
import { onPress, setUsable } from "../../focus";
import { ask, type Sender } from "../parts/pad_model";

interface Trained {
  level: string;
  message: string;
  detail: string;
  progress: number;
  training: boolean;
}

interface TrainedModel extends Sender {
  get<Name extends keyof Trained>(name: Name): Trained[Name];
  on(event: string, listener: () => void): void;
}

/** The button `name` and Stop above a status region with a progress bar; `brings` goes with the command to train. */
export function trainSection(model: TrainedModel, name: string, brings: () => Record<string, unknown> = () => ({})): HTMLElement {
  const train = element("button", { type: "button", class: "wb-primary" }, name);
  const stop = element("button", { type: "button" }, "Stop");
  onPress(train, () => ask(model, { kind: "train", ...brings() }));
  onPress(stop, () => ask(model, { kind: "stop" }));
  const message = element("div", { role: "status", class: "wb-status-message" });
  const detail = element("span", { class: "wb-status-detail" });
  const fill = element("div", { class: "wb-progress-fill" });
  const bar = element("div", { role: "progressbar", "aria-label": "Progress", "aria-valuemin": "0", "aria-valuemax": "100" }, fill);
  const status = element("div", { class: "wb-status" }, element("div", { class: "wb-status-line" }, message, detail), bar);
  const update = () => {
    setUsable(train, !model.get("training"));
    setUsable(stop, model.get("training"));
    status.dataset["level"] = model.get("level");
    // A region is read aloud when its text changes, so it is only touched when it does.
    if (message.textContent !== model.get("message")) message.textContent = model.get("message");
    detail.textContent = model.get("detail");
    const progress = model.get("progress");
    const share = Math.round(100 * Math.min(Math.max(progress, 0), 1));
    bar.classList.toggle("wb-nothing", progress < 0);
    bar.setAttribute("aria-valuenow", String(share));
    fill.style.width = `${share}%`;
  };
  for (const trait of ["level", "message", "detail", "progress", "training"]) model.on(`change:${trait}`, update);
  update();
  return element("section", { class: "wb-train-area", "aria-label": "Training" }, element("div", { class: "wb-row" }, train, stop), status);
}
