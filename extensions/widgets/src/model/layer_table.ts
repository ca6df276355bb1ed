// The layers of the chosen model: sizes, and what training does with each.

import type { RenderProps } from "@anywidget/types";
import { onKernelGone } from "../app/kernel";
import { element } from "../element";
import { keepFocus, onPress, setUsable } from "../focus";
import "./layer_table.css";
import { formatBytes, formatWhole } from "../number_format";
import { widget } from "../widget";

interface Layer {
  name: string;
  kind: string;
  /** As text, such as "batch × 10"; empty where it is not known. */
  output_shape: string;
  parameters: number;
  bytes: number;
  /** Of one row; -1 where they are not known. */
  multiply_adds: number;
  /** "trains", "part", "frozen", "none", "rewritten", "cannot", or empty while that is not known. */
  state: string;
  /** Reasons, in sentences. */
  why: string;
}

interface Traits {
  layers: Layer[];
  hint: string;
  /** Whether the check of the model has ended. */
  checked: boolean;
  /** Whether the page has a step with the graphs, to which a button leads. */
  leads_to_graphs: boolean;
}

const COLUMNS = ["Layer", "Kind", "Output", "Parameters", "Size", "Multiply-adds", "Training"];
const STATES: Record<string, string> = {
  trains: "trains",
  part: "trains in part",
  frozen: "frozen",
  none: "no parameters",
  rewritten: "rewritten",
  cannot: "cannot train",
};

function stateCell(layer: Layer, checked: boolean): HTMLElement {
  const cell = element("td", { class: "wb-layer-state" });
  const word = element("span", {}, STATES[layer.state] ?? (checked ? "not known" : "…"));
  word.dataset["state"] = layer.state;
  if (!layer.why) {
    cell.append(word);
    return cell;
  }
  const details = element("details", {}, element("summary", {}, word), element("p", {}, layer.why));
  cell.append(details);
  return cell;
}

/** A name such as "blocks.0.self_attn" or "LayerNorm", which may break before each of its words. */
function breakable(name: string): (string | Node)[] {
  return name.split(/(?<=\.)|(?<=[a-z])(?=[A-Z])/).flatMap((word) => [element("wbr"), word]);
}

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-layer-table");
  const graphs = element("button", { type: "button", class: "wb-toggle" }, "Show the graphs in Artifacts");
  graphs.title = "Generates the artifacts, if there are none yet";
  onPress(graphs, () => model.send({ kind: "graphs" }));
  onKernelGone(model, () => setUsable(graphs, false), signal);
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
        element("th", { scope: "row" }, ...breakable(layer.name)),
        element("td", {}, ...breakable(layer.kind)),
        element("td", {}, layer.output_shape || "–"),
        element("td", {}, layer.parameters ? formatWhole(layer.parameters) : "–"),
        element("td", {}, layer.parameters ? formatBytes(layer.bytes) : "–"),
        element("td", {}, layer.multiply_adds >= 0 ? formatWhole(layer.multiply_adds) : "–"),
        stateCell(layer, model.get("checked")),
      ),
    );
    const sum = (key: "parameters" | "bytes" | "multiply_adds") =>
      layers.reduce((total, layer) => total + Math.max(0, layer[key]), 0);
    const total = element(
      "tr",
      {},
      element("th", { scope: "row" }, layers.length === 1 ? "1 layer" : `${layers.length} layers`),
      element("td"),
      element("td"),
      element("td", {}, formatWhole(sum("parameters"))),
      element("td", {}, formatBytes(sum("bytes"))),
      element("td", {}, sum("multiply_adds") ? formatWhole(sum("multiply_adds")) : "–"),
      element("td"),
    );
    const table = element(
      "table",
      { class: "wb-table", "aria-label": "Layers" },
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...rows),
      element("tfoot", {}, total),
    );
    const note = element("p", { class: "wb-note" }, "Multiply-adds of one row, of linear layers, attention, matrix products and convolutions.");
    const title = element("div", { class: "wb-section-head" }, heading);
    if (model.get("leads_to_graphs")) title.append(graphs);
    el.replaceChildren(title, element("div", { class: "wb-scroll wb-layer-rows", tabindex: "0", role: "group", "aria-label": "Layers" }, table), note);
  };
  model.on("change", () => keepFocus(el, update));
  update();
}

export default widget({ render });
