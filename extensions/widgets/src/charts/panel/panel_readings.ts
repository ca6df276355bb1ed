// Formatted values of one chart: for its legend, its table, and for screen readers.

import { aboutSteps, AXES, formatSeconds, positionOf, stepAt } from "../series/axis";
import { coinciding } from "../series/coincidence";
import { Blocks, lastAtMost } from "../series/block";
import { lineOf, type Line, type LineOptions, type Metric, type Reading, readingAt, shownBlocks } from "../series/line";
import { formatWhole } from "../../number_format";
import type { DrawnLine } from "./drawing";
import { METRIC_TEXTS, type MetricText } from "./metric_text";
import type { PointColumn } from "./point_table";
import type { Incident } from "../series/series_store";
import type { ViewState } from "./view_state";

/** For values that were looked at, which are replaced and never changed: the letters of the longest. */
const lengths = new WeakMap<ArrayLike<number>, number>();

/** Letters for which there is room before the first value: 0.1234. */
const ROOM = 6;
/** Steps for whose number there is room before that of a run is known. */
const LEAST_STEPS = 1000;

/** What stands beside the mark of an incident. */
const INCIDENTS: Record<Incident["kind"], string> = {
  not_finite: "not finite",
  diverged: "diverges",
  leap: "leaps",
};

export class PanelReadings {
  constructor(
    private readonly metric: Metric,
    private readonly state: ViewState,
  ) {}

  /** Description of the current position, for a key press or the legend. */
  get sentence(): string {
    const { store, shown } = this.state;
    const { spoken } = this.text;
    if (store.empty) return `${spoken}: nothing yet`;
    const values = shown.map(({ key, label }) => `${label} ${this.valueText(key)}`);
    const whole = this.metric === "throughput" && this.state.showsRates;
    const place = whole ? `, ${this.state.context.ratesNote()}` : ` at ${this.placeText}`;
    return `${spoken}${place}: ${values.join(", ")}`;
  }

  /** Titles of the evaluations' metric come from the kernel. */
  get text(): MetricText {
    const text = METRIC_TEXTS[this.metric];
    if (this.metric === "loss") return this.lossText(text);
    if (this.metric !== "metric") return text;
    for (const { key } of this.state.context.curves()) {
      const metric = this.state.store.curve(key)?.facts.metric;
      if (metric) return { ...text, ...metric, spoken: `${metric.title}, ${metric.unit}` };
    }
    return text;
  }

  private lossText(text: MetricText): MetricText {
    const { context } = this.state;
    const federated = context.stepName() === "round";
    const spoken = federated ? "Loss of the clients while training" : text.spoken;
    const unit = federated ? "mean of the clients while training" : text.unit;
    const over = context.smoothing();
    if (over <= 1) return { ...text, spoken, unit };
    const mean = `mean ${aboutSteps(over, context.stepName())}`;
    return { ...text, spoken: federated ? `${spoken}, ${mean}` : `Loss, ${mean}`, unit: federated ? `${unit}, ${mean}` : mean };
  }

  /** What the throughput beside the names is. */
  throughputText(): string {
    const { showsRates, context } = this.state;
    if (!showsRates) return this.windowText();
    const going = this.windowText(context.curves().filter(({ key }) => context.rates()[key] === undefined));
    return going ? `${context.ratesNote()}; in progress: ${going}` : context.ratesNote();
  }

  windowText(curves = this.state.context.curves()): string {
    const { store, context } = this.state;
    const windows = curves.flatMap(({ key }) => store.curve(key)?.facts.rate_window ?? []);
    const over = windows.length > 0 ? Math.max(context.smoothing(), ...windows) : 0;
    return over > 0 ? `mean of the last ${over.toLocaleString("en")} ${context.stepName()}s` : "";
  }

  /** Of the curves that are shown. */
  private get lastStep(): number {
    return Math.max(0, ...this.state.shown.map(({ key }) => this.state.store.curve(key)?.overview.lastStep ?? 0));
  }

  /** The step of the last value of a curve: that of a metric is of an evaluation. */
  private lastStepOf(key: string): number {
    const curve = this.state.store.curve(key);
    if (this.metric === "metric") return curve?.evaluations.step.at(-1) ?? 0;
    return curve?.overview.lastStep ?? 0;
  }

  get options(): LineOptions {
    const { context } = this.state;
    return { axis: context.axis(), smoothing: context.smoothing(), window: this.state.range };
  }

  lineOf(key: string): Line | null {
    const curve = this.state.store.curve(key);
    return curve ? lineOf(curve, this.metric, this.options) : null;
  }

  /** Which curves look like one, as those of the same training on several engines do. */
  coincidenceText(logarithmic: boolean): string {
    const { shown, store, context } = this.state;
    if (context.axis() === "time") return ""; // there the same steps lie apart
    const curves = shown.flatMap((look) => {
      const curve = store.curve(look.key);
      return curve && curve.overview.length > 0 ? [{ curve }] : [];
    });
    const ends = this.state.range.map((end) => stepAt(curves[0]?.curve.overview ?? Blocks.none, context.axis(), end));
    const same = coinciding(curves, ends as [number, number], logarithmic);
    if (same.length === 0) return "";
    const lasts = same.map(({ curve }) => curve.overview.lastStep);
    const upTo = Math.min(...lasts);
    // In a comparison in progress one engine is ahead, and what stands beside the names is of other steps.
    const where = upTo < Math.min(Math.max(...lasts), ends[1] as number) ? ` up to ${context.stepName()} ${upTo.toLocaleString("en")}` : "";
    return `${same.length === curves.length ? "curves" : `${same.length} of ${curves.length}`} coincide${where}`;
  }

  /** Where something went wrong with the loss of a curve; with its name where there are others. */
  marksOf(key: string): DrawnLine["marks"] {
    const { store, shown, context } = this.state;
    const curve = store.curve(key);
    if (this.metric !== "loss" || !curve) return [];
    const name = shown.length > 1 ? `${shown.find((look) => look.key === key)?.label ?? key} ` : "";
    return curve.facts.incidents.map(({ kind, step }) => {
      const place = `${context.stepName()} ${formatWhole(step)}`;
      const short = `${INCIDENTS[kind]}, ${place}`;
      return { x: positionOf(curve.overview, context.axis(), step), texts: [`${name}${short}`, short, place] };
    });
  }

  incidentTexts(): string {
    return this.state.shown
      .flatMap(({ key, label }) =>
        [...(this.state.store.curve(key)?.facts.incidents ?? [])].sort((a, b) => a.step - b.step).map(({ text }) => `${label}: ${text}.`),
      )
      .join(" ");
  }

  private reading(key: string): Reading | null {
    const curve = this.state.store.curve(key);
    return curve ? readingAt(curve, this.metric, this.options, this.state.place) : null;
  }

  /**
   * The value of a curve where the charts are pointed at; past its end the last one, with its step. So is the last loss of
   * a curve that is behind others: those of different steps do not compare. Where there is no room for steps, there is no
   * value past the end, and the last loss is that of the end that is drawn.
   */
  valueText(key: string, withStep = true): string {
    const { place, context } = this.state;
    const last = this.lastStepOf(key);
    const behind = this.metric === "loss" && last < this.lastStep;
    const past = place === null ? behind : this.state.endOf(key) < place;
    if (past && !withStep) return place === null ? this.valueAtCursor(key, "") : "–";
    return this.valueAtCursor(key, past ? ` at ${context.stepName()} ${formatWhole(last)}` : "");
  }

  /** Letters that the text of a curve may have wherever the charts are pointed at; `withStep`: with the step that it is of. */
  longestText(key: string, withStep = true): number {
    const { store, shown, context } = this.state;
    const line = this.lineOf(key);
    if (!line) return 0;
    const awaited = context.evaluates() ? ROOM : 0;
    const tested = line.points?.y.length ? Math.max(awaited, this.longestOf(line.points.y)) : awaited;
    let longest = Math.max(ROOM, this.metric === "metric" ? tested : this.longestOf(line.y));
    const rate = this.metric === "throughput" ? context.rates()[key] : undefined;
    if (typeof rate === "number") longest = Math.max(longest, this.text.format(rate).length);
    if (this.metric === "loss" && tested) longest += ", test ".length + tested;
    const curve = store.curve(key);
    if (curve && this.metric === "memory") longest += this.rankText(key, curve.overview.lastStep).length;
    if (!withStep) return longest;
    const end = this.state.endOf(key);
    const last = curve?.overview.lastStep ?? 0;
    const place = (step: number) => ` at ${context.stepName()} `.length + formatWhole(step).length;
    // In a run, now one curve is behind and now another.
    const runs = store.lastStep === 0 || store.lastStep < context.totalSteps();
    if (runs && shown.length > 1) return longest + place(Math.max(LEAST_STEPS, last, context.totalSteps()));
    return shown.some((other) => this.state.endOf(other.key) > end) ? longest + place(last) : longest;
  }

  /** Of the texts of some values: the largest has the most digits, or the smallest an exponent. */
  private longestOf(values: ArrayLike<number>): number {
    const known = lengths.get(values);
    if (known !== undefined) return known;
    let [low, high, whole] = [Infinity, 0, true];
    for (let index = 0; index < values.length; index += 1) {
      const size = Math.abs(values[index] as number);
      if (!Number.isFinite(size)) whole = false;
      else [low, high] = [size > 0 ? Math.min(low, size) : low, Math.max(high, size)];
    }
    const { format } = this.text;
    const texts = [high, ...(low < high ? [low] : [])].map(format);
    if (!whole && this.metric !== "throughput") texts.push("not finite");
    const longest = Math.max(...texts.map(({ length }) => length));
    lengths.set(values, longest);
    return longest;
  }

  /** With `place` after the value of a step; a test loss is of another one. */
  private valueAtCursor(key: string, place: string): string {
    const found = this.reading(key);
    if (!found) return "–";
    const { format } = this.text;
    if (this.metric === "throughput" && this.state.showsRates) {
      const rate = this.state.context.rates()[key];
      if (rate === null) return "–";
      if (rate !== undefined) return `${format(rate)}${place}`; // else the run is still in progress
    }
    const text = (value: number) => (Number.isFinite(value) ? format(value) : "not finite");
    if (this.metric === "metric") return found.evaluation === null ? "–" : `${text(found.evaluation)}${place}`;
    if (found.value === null || found.step === 0) return "–";
    if (this.metric !== "loss") {
      return Number.isFinite(found.value) ? `${format(found.value)}${this.rankText(key, found.step)}${place}` : "–";
    }
    const test = found.evaluation === null ? "" : `, test ${text(found.evaluation)}`;
    return `${text(found.value)}${place}${test}`;
  }

  /** The memory of each process of several. */
  private rankText(key: string, step: number): string {
    const memory = this.metric === "memory" ? this.state.store.curve(key)?.rankMemory : undefined;
    const at = memory ? lastAtMost(memory.step, step) : -1;
    if (!memory || at < 0) return "";
    const sizes = memory.ranks.map((values) => this.text.format(values[at] as number));
    return ` = ${sizes.join(" + ")}`;
  }

  /** Where the values are read, or the last step. */
  get placeText(): string {
    const { place, context, shown } = this.state;
    const axis = context.axis();
    if (axis === "step" || place === null) {
      const steps = shown.map(({ key }) => this.reading(key)?.step ?? 0);
      return `${context.stepName()} ${formatWhole(place === null ? this.lastStep : Math.max(0, ...steps))}`;
    }
    return axis === "time" ? formatSeconds(place) : `${formatWhole(place)} ${AXES[axis].label}`;
  }

  /** The columns of a curve in the table of points: a loss on the test split has its own. */
  columnsOf(key: string, label: string): PointColumn[] {
    const steps = this.stepsOf(key);
    const drawn = { label, steps, valueAt: (step: number) => this.valueAtStep(key, step, this.metric === "metric") };
    const tested = this.metric === "loss" && (this.state.store.curve(key)?.evaluations.step.length ?? 0) > 0;
    if (!tested) return [drawn];
    return [drawn, { label: `${label}, test`, steps, valueAt: (step) => this.valueAtStep(key, step, true) }];
  }

  /** The steps of a curve that are drawn, or stand for those around them; of a metric those that were evaluated. */
  private stepsOf(key: string): Float64Array {
    const curve = this.state.store.curve(key);
    if (!curve) return new Float64Array(0);
    return this.metric === "metric" ? Float64Array.from(curve.evaluations.step) : shownBlocks(curve, this.options).step;
  }

  /** Of the curve, or of the last evaluation by then. */
  private valueAtStep(key: string, step: number, evaluated: boolean): string {
    const curve = this.state.store.curve(key);
    if (!curve || curve.overview.lastStep < step) return "–";
    const reading = readingAt(curve, this.metric, { ...this.options, axis: "step", window: [step, step] }, step);
    const value = evaluated ? reading?.evaluation : reading?.value;
    return value == null ? "–" : Number.isFinite(value) ? this.text.format(value) : "not finite";
  }
}
