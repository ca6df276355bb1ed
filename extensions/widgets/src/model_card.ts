// What the chosen model is: its card, its inputs and outputs, and its size.

import type { RenderProps } from "@anywidget/types";
import { element } from "./element";
import "./model_card.css";

interface Traits {
  /** What to say instead while there is no model. */
  hint: string;
  card: string;
  /** Pairs of a name and what there is to say of it. */
  facts: [string, string][];
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-model-card");
  const update = () => {
    const text = model.get("card") || model.get("hint");
    const paragraph = element("p", {}, text);
    paragraph.classList.toggle("wb-hint", !model.get("card"));
    const facts = element("dl");
    for (const [name, value] of model.get("facts")) {
      facts.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
    }
    el.replaceChildren(...(text ? [paragraph] : []), ...(facts.hasChildNodes() ? [facts] : []));
  };
  model.on("change", update);
  update();
}

export default { render };
