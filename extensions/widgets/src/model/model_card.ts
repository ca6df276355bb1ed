// The chosen model: its card, its inputs and outputs, and whether it can be trained.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import { unbroken } from "../number_format";
import "./model_card.css";
import { widget } from "../widget";

interface Traits {
  /** Text while there is no model. */
  hint: string;
  title: string;
  card: string;
  /** Whether ONNX Runtime can train it, in sentences. */
  verdict: string;
  /** Pairs of a name and what there is to say of it. */
  facts: string[][];
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-model-card");
  const update = () => {
    const title = model.get("title");
    const text = model.get("card") || model.get("hint");
    const paragraph = element("p", {}, unbroken(text));
    paragraph.classList.toggle("wb-hint", !model.get("card"));
    const facts = element("dl");
    for (const [name, value] of model.get("facts")) {
      facts.append(
        element("div", {}, element("dt", {}, name ?? ""), element("dd", {}, unbroken(value ?? ""))),
      );
    }
    const verdict = model.get("verdict");
    el.replaceChildren(
      ...(title ? [element("h2", {}, title)] : []),
      ...(text ? [paragraph] : []),
      ...(facts.hasChildNodes() ? [facts] : []),
      ...(verdict ? [element("p", { class: "wb-verdict" }, verdict)] : []),
    );
  };
  model.on("change", update);
  update();
}

export default widget({ render });
