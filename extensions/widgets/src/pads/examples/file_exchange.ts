// Examples out to a file of the user's own and back, through the browser.

import { element, freshId } from "../../element";
import { ask, bytesOf, type Listened, onMessage, type Sender } from "../parts/pad_model";

/** Largest file that is sent to the kernel; the kernel refuses more. */
export const MOST_BYTES = 32e6;

/**
 * Two buttons: save all examples as one file, and load such a file.
 *
 * @param typed what comes with both commands, as it may still be on its way as traits.
 */
export function fileExchange(
  model: Sender & Listened,
  signal: AbortSignal,
  typed: () => Record<string, unknown> = () => ({}),
): HTMLElement {
  const problem = element("p", { class: "wb-problem", role: "alert", hidden: "" });
  const save = element("button", { type: "button", class: "wb-small" }, "Save as file");
  const field = element("input", { type: "file", accept: ".npz", hidden: "", id: freshId("file"), "aria-label": "File with examples" });
  const load = element("button", { type: "button", class: "wb-small" }, "Load file");
  // The file comes to every view of the pad; the one that asked takes it.
  let asked = false;
  save.addEventListener("click", () => {
    asked = true;
    ask(model, { kind: "download", ...typed() });
  });
  load.addEventListener("click", () => field.click());
  field.addEventListener("change", () => {
    const file = field.files?.[0];
    field.value = "";
    if (!file) return;
    problem.hidden = file.size <= MOST_BYTES;
    problem.textContent = `${file.name} has ${(file.size / 1e6).toFixed(1)}\u00a0MB: at most ${MOST_BYTES / 1e6}\u00a0MB can be loaded.`;
    if (problem.hidden) {
      void file.arrayBuffer().then((bytes) => ask(model, { kind: "upload", name: file.name, ...typed() }, new Uint8Array(bytes)));
    }
  });
  onMessage(model, signal, (content, buffers) => {
    if (content["kind"] !== "file" || !asked) return;
    asked = false;
    const address = URL.createObjectURL(new Blob([bytesOf(buffers[0])]));
    element("a", { href: address, download: String(content["name"]) }).click();
    window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
  });
  return element("div", {}, element("div", { class: "wb-row" }, save, load, field), problem);
}
