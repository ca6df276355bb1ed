// The layers of the chosen model: name, kind, output shape, parameters and bytes.

import type { RenderProps } from "@anywidget/types";
import { element } from "./element";
import "./layer_table.css";
import { formatBytes, formatWhole } from "./number_format";

interface Layer {
  name: string;
  kind: string;
  /** As text, such as "batch × 10"; empty where it is not known. */
  output_shape: string;
  parameters: number;
  bytes: number;
}

interface Traits {
  layers: Layer[];
  hint: string;
}

const COLUMNS = ["Layer", "Kind", "Output", "Parameters", "Size"];

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-layer-table");
  const update = () => {
    const layers = model.get("layers");
    const heading = element("h2", {}, "Layers");
    if (layers.length === 0) {
      el.replaceChildren(heading, element("p", { class: "wb-hint" }, model.get("hint")));
      return;
    }
    const head = COLUMNS.map((column) => element("th", { scope: "col" }, column));
    const rows = layers.map((layer) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, layer.name),
        element("td", {}, layer.kind),
        element("td", {}, layer.output_shape || "–"),
        element("td", {}, layer.parameters ? formatWhole(layer.parameters) : "–"),
        element("td", {}, layer.parameters ? formatBytes(layer.bytes) : "–"),
      ),
    );
    const parameters = layers.reduce((sum, layer) => sum + layer.parameters, 0);
    const bytes = layers.reduce((sum, layer) => sum + layer.bytes, 0);
    const total = element(
      "tr",
      {},
      element("th", { scope: "row" }, `${layers.length} layers`),
      element("td"),
      element("td"),
      element("td", {}, formatWhole(parameters)),
      element("td", {}, formatBytes(bytes)),
    );
    el.replaceChildren(
      heading,
      element(
        "table",
        { class: "wb-table" },
        element("thead", {}, element("tr", {}, ...head)),
        element("tbody", {}, ...rows),
        element("tfoot", {}, total),
      ),
    );
  };
  model.on("change", update);
  update();
}

export default { render };
