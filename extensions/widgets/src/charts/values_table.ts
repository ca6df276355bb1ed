// Last, best and pointed-at values of every curve, with the step that each belongs to.

import { formatSeconds, type StepName } from "./series/axis";
import { element } from "../element";
import { readingAt } from "./series/line";
import { formatLoss, formatMegabytes, formatSignificant } from "../number_format";
import { lineSample } from "../theme";
import type { ValueAtStep } from "./series/series_store";
import type { ViewState } from "./panel/view_state";

const COLUMNS = ["Run", "Last loss", "Best loss"];
const TESTED = "Best test loss";
const POINTED = ["Loss", "Samples/s", "MB", "Time"];

export function fillValuesTable(table: HTMLTableElement, state: ViewState): void {
  const { store, shown, cursor } = state;
  const stepName = state.context.stepName();
  const tested = shown.some(({ key }) => store.curve(key)?.facts.best_evaluation);
  const at = cursor === null ? "at the last step" : "at the cursor";
  const { rates, ratesNote } = state.context;
  const head = [
    ...[...COLUMNS, ...(tested ? [TESTED] : [])].map((title) => element("th", { scope: "col" }, title)),
    ...POINTED.map((title) => {
      let of = title === "Loss" ? "at the cursor" : at;
      if (title === "Samples/s" && state.showsRates) of = ratesNote();
      if (title === "Time") of += ", warm-up included";
      return element("th", { scope: "col" }, title, element("small", {}, of));
    }),
  ];
  const rows = shown.flatMap((look) => {
    const curve = store.curve(look.key);
    if (!curve) return [];
    const options = { axis: state.context.axis(), smoothing: 0, window: state.range };
    const reading = (metric: "loss" | "throughput" | "memory") => readingAt(curve, metric, options, cursor);
    const loss = reading("loss");
    // Of the last step it is the last loss, which has its own column.
    const pointed = cursor !== null && loss?.value != null ? { value: loss.value, step: loss.step } : null;
    const { overview, facts } = curve;
    const last = overview.length > 0 ? { value: overview.loss.at(-1) as number, step: overview.lastStep } : null;
    const name = element("th", { scope: "row", title: look.detail }, lineSample(look), look.label);
    const whole = state.showsRates ? rates()[look.key] : undefined;
    const rate = whole === undefined ? reading("throughput")?.value : whole;
    const cells = [
      lossCell(last, stepName),
      lossCell(facts.best, stepName),
      ...(tested ? [lossCell(facts.best_evaluation, stepName)] : []),
      lossCell(pointed, stepName),
      element("td", {}, number(rate, formatSignificant)),
      element("td", {}, number(reading("memory")?.value, formatMegabytes)),
      element("td", {}, loss ? formatSeconds(loss.seconds) : "–"),
    ];
    return [element("tr", {}, name, ...cells)];
  });
  const caption = element("caption", {}, `Values, each with its ${stepName}`);
  table.replaceChildren(
    caption,
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows),
  );
}

function lossCell(value: ValueAtStep | null, stepName: StepName): HTMLElement {
  if (!value || value.step === 0) return element("td", {}, "–");
  const text = Number.isFinite(value.value) ? formatLoss(value.value) : "not finite";
  return element("td", {}, text, element("small", {}, `${stepName} ${value.step.toLocaleString("en")}`));
}

function number(value: number | null | undefined, format: (value: number) => string): string {
  return value == null || !Number.isFinite(value) ? "–" : format(value);
}
