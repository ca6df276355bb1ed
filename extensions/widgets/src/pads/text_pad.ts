// Train on a text of your own, and see how it is continued before and after.

import type { RenderProps } from "@anywidget/types";
import { element, freshId } from "../element";
import { widget } from "../widget";
import { exportSection } from "./training/export_section";
import { fileExchange } from "./examples/file_exchange";
import { ask, type PadTraits, padRoot } from "./parts/pad_model";
import "./pads.css";
import { problemArea } from "./parts/problem_area";
import { trainSection } from "./training/train_section";

interface Continuation {
  title: string;
  prompt: string;
  text: string;
  /** How well the model predicts held-out text, in words. */
  detail: string;
}

interface Traits extends PadTraits {
  /** The person's own text. */
  text: string;
  /** Most characters of it. */
  most_characters: number;
  /** What is to be continued. */
  prompt: string;
  /** What follows the prompt, before and after. */
  continuations: Continuation[];
}

/** How long typing must pause before it is sent, in milliseconds. */
const PAUSE_MS = 300;

function render({ model, el, signal }: RenderProps<Traits & Record<string, unknown>>): void {
  padRoot(el);
  const text = element("textarea", { id: freshId("text"), rows: "9", spellcheck: "false" });
  const prompt = element("input", { id: freshId("prompt"), type: "text", maxlength: "64", spellcheck: "false" });
  const count = element("small");
  const timers = new Map<string, number>();
  const send = (name: "text" | "prompt", value: string) => {
    window.clearTimeout(timers.get(name));
    if (value === model.get(name)) return;
    model.set(name, value);
    model.save_changes();
  };
  const keep = (field: HTMLTextAreaElement | HTMLInputElement, name: "text" | "prompt") => {
    field.addEventListener("input", () => {
      window.clearTimeout(timers.get(name));
      timers.set(name, window.setTimeout(() => send(name, field.value), PAUSE_MS));
      showCount();
    });
    field.addEventListener("change", () => send(name, field.value));
    const update = () => {
      if (document.activeElement !== field) field.value = model.get(name);
      showCount();
    };
    model.on(`change:${name}`, update);
    signal.addEventListener("abort", () => window.clearTimeout(timers.get(name)));
    update();
  };
  const showCount = () => {
    const most = model.get("most_characters");
    count.textContent = `${text.value.length.toLocaleString("en")} of at most ${most.toLocaleString("en")} characters`;
  };
  text.maxLength = model.get("most_characters");
  const again = element("button", { type: "button" }, "Continue");
  // A command may overtake a trait that is on its way, so it brings what it is about.
  again.addEventListener("click", () => {
    send("prompt", prompt.value);
    ask(model, { kind: "continue", prompt: prompt.value });
  });
  prompt.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !again.hidden) again.click();
  });
  const typed = () => ({ text: text.value, prompt: prompt.value });
  const shown = element("div", { class: "wb-continuations", "aria-live": "polite" });
  const note = element("p", { class: "wb-hint" });
  const results = element("section", { class: "wb-results-area", "aria-label": "Continuations" }, element("h2", {}, "Continuation"), note, shown);
  el.append(
    element(
      "section",
      { class: "wb-text-area", "aria-label": "Your text" },
      element("label", { class: "wb-field-label", for: text.id }, "Your own text"),
      text,
      count,
      fileExchange(model, signal, typed),
      problemArea(model, "examples"),
      element("label", { class: "wb-field-label", for: prompt.id }, "Prompt, to be continued"),
      element("div", { class: "wb-row" }, prompt, again),
      problemArea(model, "try"),
    ),
    trainSection(model, "Fine-tune on text", typed),
    results,
    exportSection(model),
  );
  keep(text, "text");
  keep(prompt, "prompt");
  const update = () => {
    again.hidden = !model.get("ready");
    const all = model.get("continuations");
    results.hidden = all.length === 0;
    note.textContent = model.get("result_note");
    shown.replaceChildren(
      ...all.map(({ title, prompt: given, text: continued, detail }) =>
        element(
          "figure",
          { class: "wb-score" },
          element("figcaption", {}, element("h3", {}, title), element("small", {}, detail)),
          element("pre", {}, element("strong", {}, given), continued),
        ),
      ),
    );
  };
  for (const trait of ["ready", "continuations", "result_note"]) model.on(`change:${trait}`, update);
  update();
}

export default widget({ render });
