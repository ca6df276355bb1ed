// How large gradients and updates of each layer are, over the steps of a run.

import type { RenderProps } from "@anywidget/types";
import { element, freshId } from "../../element";
import { formatSignificant, formatWhole } from "../../number_format";
import { onThemeChange } from "../../theme";
import { widget } from "../../widget";
import { drawRow, extent, limits, type Series } from "./layer_heat";
import "./layer_statistics_view.css";

interface Engine {
  engine: string;
  layers: string[];
  /** Numbers of the steps, evenly over the run. */
  steps: number[];
  /** (2, layers, steps) float32: gradient norms, then update-to-weight ratios. */
  values: DataView;
}

interface Traits {
  engines: Engine[];
  /** Steps between two records of the next run; 0: none are recorded. */
  every: number;
}

const MEASURES = [
  { title: "Gradient norm", note: "Euclidean norm of the gradient of each layer, before clipping." },
  {
    title: "Update-to-weight ratio",
    note: "Norm of the update of a layer's weights, divided by the norm of these weights.",
  },
] as const;

export function seriesOf({ layers, steps, values }: Engine, measure: number): Series {
  const size = layers.length * steps.length;
  const start = values.byteOffset + measure * size * 4;
  return {
    layers: layers.length,
    steps: steps.length,
    values: new Float32Array(values.buffer.slice(start, start + size * 4)),
  };
}

function numberText(value: number): string {
  return Number.isFinite(value) ? formatSignificant(value) : "not finite";
}

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-layer-statistics");
  let measure = 0;
  const choice = element("select", { id: freshId("layers") });
  const chooser = element("span", {}, element("label", { for: choice.id }, "Engine"), " ", choice);
  const buttons = MEASURES.map(({ title }, at) => {
    const button = element("button", { type: "button", class: "wb-toggle" }, title);
    button.addEventListener("click", () => {
      measure = at;
      update();
    });
    return button;
  });
  const tools = element("div", { class: "wb-layer-tools" }, ...buttons, chooser);
  const note = element("p", { class: "wb-note" });
  const body = element("tbody");
  const head = ["Layer", "Last", "Least to most"].map((name) => element("th", { scope: "col" }, name));
  const over = element("th", { scope: "col" });
  const table = element(
    "table",
    { class: "wb-table" },
    element("thead", {}, element("tr", {}, ...head, over)),
    body,
  );
  const label = { role: "group", tabindex: "0", "aria-label": "Statistics by layer" };
  const pointed = element("p", { class: "wb-note wb-pointed", "aria-hidden": "true" });
  const scroll = element("div", { class: "wb-scroll", ...label }, table);
  const record = element("button", { type: "button", class: "wb-toggle wb-layer-record" }, "Record");
  record.title = "Record gradient norm and update-to-weight ratio of each layer in runs that start from now on";
  record.addEventListener("click", () => model.send({ kind: "record", on: model.get("every") === 0 }));
  el.append(
    element("div", { class: "wb-section-head" }, element("h2", {}, "Layers"), tools, record),
    note,
    scroll,
    pointed,
  );

  const rowOf = (name: string, at: number, engine: Engine, series: Series, canvas: HTMLElement) => {
    const all = series.values.subarray(at * series.steps, (at + 1) * series.steps);
    const range = limits(all);
    const between = range ? range.map(numberText).join(" to ") : "–";
    canvas.addEventListener("pointermove", (event) => {
      // As a share, which no zoom changes.
      const box = canvas.getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * series.steps);
      const step = engine.steps[column];
      if (step === undefined) return;
      pointed.textContent = `${name}, step ${formatWhole(step)}: ${numberText(all[column] ?? NaN)}`;
    });
    canvas.addEventListener("pointerleave", () => (pointed.textContent = ""));
    const last = all.length ? numberText(all[all.length - 1] ?? NaN) : "–";
    return element(
      "tr",
      {},
      element("th", { scope: "row", title: name }, name),
      element("td", {}, last),
      element("td", {}, between),
      element("td", { class: "wb-heat" }, canvas),
    );
  };

  const update = () => {
    const engines = model.get("engines");
    const none = engines.length === 0;
    tools.hidden = scroll.hidden = pointed.hidden = none;
    const every = model.get("every");
    record.setAttribute("aria-pressed", String(every > 0));
    const names = engines.map(({ engine }) => engine);
    if (names.join() !== [...choice.options].map(({ value }) => value).join()) {
      const kept = choice.value;
      choice.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
      if (names.includes(kept)) choice.value = kept;
    }
    chooser.hidden = names.length < 2;
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === measure)));
    const chosen = engines.find(({ engine }) => engine === choice.value) ?? engines[0];
    if (!chosen) {
      const steps = every === 1 ? "step" : `${formatWhole(every)} steps`;
      const state = every ? `are recorded every ${steps} of the runs that start with this setting.` : "are not recorded.";
      note.textContent = `Gradient norm and update-to-weight ratio of each layer ${state}`;
      return;
    }
    const series = seriesOf(chosen, measure);
    const range = extent(series);
    const shades = range ? ` Faint is ${numberText(range[0])}, strong ${numberText(range[1])}, by logarithm.` : "";
    note.textContent = `${MEASURES[measure]?.note ?? ""}${shades}`;
    const [first, last] = [chosen.steps[0] ?? 0, chosen.steps[chosen.steps.length - 1] ?? 0];
    over.textContent = `Steps ${formatWhole(first)} to ${formatWhole(last)}`;
    const style = getComputedStyle(el);
    const read = (name: string) => style.getPropertyValue(name).trim();
    const colors = { shade: read("--wb-heat"), error: read("--wb-error") };
    body.replaceChildren(
      ...chosen.layers.map((name, at) => {
        const canvas = element("canvas", { "aria-hidden": "true" });
        drawRow(canvas, series, at, range, colors);
        return rowOf(name, at, chosen, series, canvas);
      }),
    );
  };
  choice.addEventListener("change", update);
  for (const name of ["engines", "every"] as const) model.on(`change:${name}`, update);
  onThemeChange(update, signal);
  update();
}

export default widget({ render });
