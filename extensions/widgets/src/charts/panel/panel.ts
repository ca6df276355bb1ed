// One chart with its title, its legend and the same values as a table.

import type uPlot from "uplot";
import { horizontalAxis } from "../series/axis";
import { lastAtMost } from "../series/block";
import type { DrawnLine } from "./drawing";
import { element, freshId, setAttribute, setText } from "../../element";
import { Legend } from "./legend";
import type { Metric } from "../series/line";
import { METRIC_TEXTS } from "./metric_text";
import { OWN_KEYS } from "../../own_keys";
import { pressKey } from "./panel_keys";
import type { PanelListener } from "./panel_listener";
import { PanelReadings } from "./panel_readings";
import { fitPlot, hasAxisTitle, makePlot, setCursor, setRanges } from "./plot";
import { fillPointTable } from "./point_table";
import { isLogarithmic, logRange, type Range, valueRange } from "./scales";
import { formatSignificant, unbroken } from "../../number_format";
import { lineStyle, readTheme } from "../../theme";
import type { ViewState } from "./view_state";
import { typeScaleOf, zoomOf } from "../../zoom";

/** As the kernel calls the throughput of whole runs, measured together or not, and what it is. */
const MEDIANS = ["median of rounds", "median over the run"];
const ROUNDS =
  "A curve is a mean over a twentieth of the steps, at least ten. The throughput of a run is the median over such rounds, that of a comparison over the turns of its engines: what disturbed a few of them is left out.";

export class Panel {
  readonly root: HTMLElement;
  readonly surface = element("div", { class: "wb-plot", role: "img", tabindex: "0", [OWN_KEYS]: "" });
  plot: uPlot | null = null;
  private readonly title = element("h3", { id: freshId("chart") });
  private readonly unit = element("span", { class: "wb-unit" });
  private readonly hint = element("p", { class: "wb-plot-hint" });
  private readonly coincident = element("p", { class: "wb-coincident" });
  private readonly frame = element("div", { class: "wb-plot-frame" });
  private readonly incidents = element("p", { class: "wb-incidents" });
  private readonly legend: Legend;
  private readonly table = element("table", { class: "wb-table wb-point-table" });
  /** A table of many curves is wider than the chart. */
  private readonly scroller = element("div", { class: "wb-point-scroll", role: "group", tabindex: "0", hidden: "" }, this.table);
  private readonly logarithm = element("button", { type: "button", class: "wb-toggle" }, "log");
  private drawnAs = "";
  private tabled = false;
  private placed = false;
  /** The curves for which it was given its place. */
  private placedFor = "";
  private readonly words: PanelReadings;

  constructor(
    readonly metric: Metric,
    private readonly state: ViewState,
    private readonly listener: PanelListener,
  ) {
    this.legend = new Legend(listener);
    this.words = new PanelReadings(metric, state);
    const head = element("div", { class: "wb-panel-head" }, this.title, this.unit, this.logarithm);
    this.logarithm.addEventListener("click", () =>
      listener.onScale(metric, this.logarithmic ? "linear" : "log"),
    );
    this.frame.append(this.surface, this.hint, this.coincident);
    const below = element("div", {}, this.frame, this.incidents, this.scroller);
    this.root = element("div", { class: `wb-panel wb-panel-${metric}` }, head, this.legend.root, below);
    this.surface.addEventListener("blur", () => listener.onPoint(null));
  }

  /** Hides or shows the chart, and takes its size. */
  place(): void {
    if (this.metric === "metric") {
      const { context } = this.state;
      // Once it has its place it keeps it, as the charts would move, until others are shown.
      const curves = JSON.stringify(context.curves().map(({ key }) => key));
      const found = this.words.text.title !== METRIC_TEXTS.metric.title || context.evaluates();
      if (found) this.placedFor = curves;
      this.placed = found || this.placedFor === curves;
      // Of a federated run its own charts show it, beside that of each client.
      const hidden = context.stepName() === "round" || !this.placed;
      if (this.root.hidden !== hidden) this.root.hidden = hidden;
    }
    this.resize();
  }

  /** Draws what the store holds now. Called after `place`, and before any `describe`: text that is
   * drawn in a canvas makes the browser style the page again if an element has changed. */
  draw(): void {
    const { context } = this.state;
    const axis = `${context.axis()} ${context.stepName()} ${hasAxisTitle(this.surface)}`;
    const drawnAs = `${axis} ${this.logarithmic} ${zoomOf(this.root)} ${typeScaleOf(this.root)}`;
    if (!this.plot || drawnAs !== this.drawnAs) this.rebuild();
    else setRanges(this.plot, this.state.range, this.valueLimits());
    this.drawnAs = drawnAs;
    this.showCursor();
  }

  private showCursor(): void {
    const pointed = this.state.cursor !== null;
    if (this.root.classList.contains("wb-pointed") !== pointed) this.root.classList.toggle("wb-pointed");
    if (this.plot) setCursor(this.plot, this.state.cursor, this.words.placeText);
  }

  /** Shows in words and numbers what `draw` draws. */
  describe(): void {
    const { context, store } = this.state;
    const unevaluated = this.metric === "metric" && !store.empty && !this.evaluated;
    // Once is enough for all charts.
    const waited = store.empty && this.metric === "loss" ? unbroken(context.hint()) : "";
    const unevaluatedText = context.evaluates() ? "Nothing is evaluated yet." : "Nothing is evaluated.";
    setText(this.hint, unevaluated ? unevaluatedText : waited);
    const waiting = store.empty || unevaluated;
    setAttribute(this.frame, "class", waiting ? "wb-plot-frame wb-waiting" : "wb-plot-frame");
    this.fillHead();
    this.fillLegend();
    const marked = this.state.shown.some(({ key }) => this.words.marksOf(key).length > 0); // whose texts need the room
    const coincident = this.metric === "loss" && !marked ? this.words.coincidenceText(this.logarithmic) : "";
    setText(this.coincident, coincident);
    setAttribute(this.coincident, "title", coincident);
    this.showAsChosen();
  }

  /** Makes the plot again: its axes, the theme or the zoom have changed. */
  rebuild(): void {
    if (!this.root.isConnected || this.root.hidden) return;
    this.destroy();
    // A hidden chart has no size to draw at. It is drawn once it is shown.
    if (!this.surface.clientWidth) return;
    this.plot = makePlot(
      {
        theme: readTheme(this.root),
        axis: horizontalAxis(this.state.context.axis(), this.state.context.stepName()),
        logarithmic: this.logarithmic,
        lines: () => this.lines(),
        onPoint: this.listener.onPoint,
        onSelect: this.listener.onSelect,
      },
      this.surface,
    );
    setRanges(this.plot, this.state.range, this.valueLimits());
  }

  resize(): void {
    this.legend.resize();
    if (this.plot) fitPlot(this.plot, this.surface);
  }

  /** The place that all charts look at has changed. */
  point(): void {
    this.showCursor();
    this.fillHead();
    this.fillLegend();
  }

  showTable(shown: boolean): void {
    this.tabled = shown;
    this.fillHead();
    this.showAsChosen();
  }

  /** The table in place of the chart, once there is something in it. */
  private showAsChosen(): void {
    const nothing = this.state.store.empty || (this.metric === "metric" && !this.evaluated);
    const shown = this.tabled && !nothing;
    if (this.scroller.hidden === shown) {
      this.scroller.hidden = !shown;
      this.frame.hidden = shown;
      this.legend.root.hidden = shown;
      if (!shown) this.resize();
    }
    if (shown) this.fillTable();
  }

  /** Carries out a key press; returns whether it had a meaning. */
  press(event: KeyboardEvent): boolean {
    return pressKey(event, this.state, this.listener, () => this.words.sentence);
  }

  destroy(): void {
    this.plot?.destroy();
    this.plot = null;
  }

  private get logarithmic(): boolean {
    const { context, store } = this.state;
    return isLogarithmic(context.scaleOf(this.metric), store.spreads[this.metric] ?? 1);
  }

  /** Whether a curve that is shown has an evaluation. */
  private get evaluated(): boolean {
    return this.state.shown.some(({ key }) => this.state.store.curve(key)?.evaluations.step.length);
  }

  private fillHead(): void {
    const { title, unit } = this.words.text;
    setText(this.title, title);
    const notes = [this.metric === "loss" && this.evaluated ? `${unit}, –●– on the test split` : unit];
    // A table has the points of the curve.
    if (this.metric === "throughput") notes.push(this.tabled ? this.words.windowText() : this.words.throughputText());
    const spread = this.state.store.spreads[this.metric] ?? 1;
    const chosen = this.logarithmic && this.state.context.scaleOf(this.metric) === "auto";
    const text = notes.filter(Boolean).join(", ");
    setText(this.unit, text);
    setAttribute(this.unit, "title", MEDIANS.some((median) => text.includes(median)) ? `${text}. ${ROUNDS}` : text);
    setText(this.logarithm, chosen ? "log (auto)" : "log");
    setAttribute(this.logarithm, "aria-pressed", String(this.logarithmic));
    setAttribute(this.logarithm, "aria-label", `Logarithmic scale of ${title}`);
    const hint = chosen
      ? `Automatically logarithmic: values differ ${formatSignificant(spread)} times. Press for a linear scale.`
      : "Logarithmic scale";
    setAttribute(this.logarithm, "title", hint);
  }

  private lines(): DrawnLine[] {
    return this.state.drawingOrder.flatMap((look) => {
      const line = this.words.lineOf(look.key);
      if (!line) return [];
      const faded = this.state.isFaded(look.key);
      return [{ line, faded, style: lineStyle(this.root, look), marks: this.words.marksOf(look.key) }];
    });
  }

  /** Limits of the axis of values: of all that is drawn within the window. */
  private valueLimits(): Range {
    const [from, to] = this.state.range;
    let low = Infinity;
    let high = -Infinity;
    const take = (x: Float64Array, values: ArrayLike<number>) => {
      const last = Math.min(x.length - 1, lastAtMost(x, to) + 1);
      for (let index = Math.max(0, lastAtMost(x, from)); index <= last; index += 1) {
        const value = values[index] as number;
        if (!Number.isFinite(value) || (this.logarithmic && value <= 0)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    };
    for (const { key } of this.state.shown) {
      const line = this.words.lineOf(key);
      if (!line) continue;
      take(line.x, line.y);
      if (line.raw) take(line.x, line.raw);
      if (line.band) [line.band.low, line.band.high].forEach((edge) => take(line.x, edge));
      if (line.points) take(line.points.x, line.points.y);
      for (const { x, y } of line.thin) take(x, y);
    }
    const { fromZero, unit } = this.words.text;
    return this.logarithmic ? logRange(low, high) : valueRange(low, high, fromZero, unit);
  }

  private fillTable(): void {
    const { words } = this;
    const { spoken } = words.text;
    setAttribute(this.scroller, "aria-label", `Table of ${words.text.title}`);
    const note = this.metric === "throughput" ? `, ${words.windowText()}` : "";
    const { shown, store } = this.state;
    fillPointTable(this.table, store, {
      stepName: this.state.context.stepName(),
      title: `${spoken}${note}`,
      columns: shown.flatMap(({ key, label }) => words.columnsOf(key, label)),
      window: this.state.windowSteps,
    });
  }

  private fillLegend(): void {
    const { context } = this.state;
    const { words } = this;
    this.legend.update(
      context.curves(),
      context.hidden(),
      (key, withStep) => words.valueText(key, withStep),
      (key, withStep) => words.longestText(key, withStep),
    );
    setAttribute(this.surface, "aria-label", this.words.sentence);
    setText(this.incidents, this.metric === "loss" ? this.words.incidentTexts() : "");
  }
}
