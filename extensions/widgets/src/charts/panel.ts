// One chart with its title, its legend and the same values as a table.

import type uPlot from "uplot";
import { AXES, formatSeconds, positionOf, positions, stepAt } from "./axis";
import { lastAtMost } from "./block";
import type { DrawnLine } from "./drawing";
import { element, freshId } from "../element";
import { Legend } from "./legend";
import { type Line, lineOf, type Metric, type Reading, readingAt } from "./line";
import { METRIC_TEXTS, type MetricText } from "./metric_text";
import { OWN_KEYS } from "./own_keys";
import { makePlot, setCursor, setRanges } from "./plot";
import { fillPointTable } from "./point_table";
import { isLogarithmic, logRange, type Range, valueRange } from "./scales";
import { formatSignificant } from "../number_format";
import { lineStyle, readTheme } from "../theme";
import type { ViewState } from "./view_state";

export interface PanelListener {
  /** The pointer or a key asks all charts to look at `x`; null: at none. */
  onPoint: (x: number | null) => void;
  onSelect: (range: Range) => void;
  /** The window of the view has changed. */
  onWindow: () => void;
  onReset: () => void;
  onToggle: (key: string) => void;
  onHighlight: (key: string | null) => void;
  onScale: (metric: Metric, scale: "linear" | "log") => void;
  /** What a key press found, for those who listen. */
  onRead: (sentence: string) => void;
}

export class Panel {
  readonly root: HTMLElement;
  readonly surface = element("div", { class: "wb-plot", role: "img", tabindex: "0", [OWN_KEYS]: "" });
  plot: uPlot | null = null;
  private readonly title = element("h3", { id: freshId("chart") });
  private readonly unit = element("span", { class: "wb-unit" });
  private readonly hint = element("p", { class: "wb-plot-hint" });
  private readonly incidents = element("p", { class: "wb-incidents" });
  private readonly legend: Legend;
  private readonly table = element("table", { class: "wb-table wb-point-table", hidden: "" });
  private readonly logarithm = element("button", { type: "button", class: "wb-toggle" }, "log");
  private drawnAs = "";

  constructor(
    readonly metric: Metric,
    private readonly state: ViewState,
    private readonly listener: PanelListener,
  ) {
    this.legend = new Legend(listener);
    const head = element("div", { class: "wb-panel-head" }, this.title, this.unit, this.logarithm);
    this.logarithm.addEventListener("click", () =>
      listener.onScale(metric, this.logarithmic ? "linear" : "log"),
    );
    const frame = element("div", { class: "wb-plot-frame" }, this.surface, this.hint);
    const below = element("div", {}, frame, this.incidents, this.table);
    this.root = element("div", { class: `wb-panel wb-panel-${metric}` }, head, this.legend.root, below);
    this.surface.addEventListener("blur", () => listener.onPoint(null));
  }

  /** Draws what the store holds now. */
  draw(): void {
    if (this.metric === "metric") this.root.hidden = this.text.title === METRIC_TEXTS.metric.title;
    const { context, store } = this.state;
    const drawnAs = `${context.axis()} ${this.logarithmic}`;
    if (!this.plot || drawnAs !== this.drawnAs) this.rebuild();
    this.drawnAs = drawnAs;
    this.hint.textContent = store.empty ? context.hint() : "";
    this.fillHead();
    if (this.plot) {
      setRanges(this.plot, this.state.range, this.valueLimits());
      setCursor(this.plot, this.state.cursor);
    }
    this.fillLegend();
    if (!this.table.hidden) this.fillTable();
  }

  /** Makes the plot anew: its axes or the theme have changed. */
  rebuild(): void {
    if (!this.root.isConnected || this.root.hidden) return;
    this.plot?.destroy();
    this.plot = makePlot(
      {
        theme: readTheme(this.root),
        axis: this.state.context.axis(),
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
    const { clientWidth: width, clientHeight: height } = this.surface;
    if (this.plot && width > 0 && height > 0) this.plot.setSize({ width, height });
  }

  /** The place that all charts look at has changed. */
  point(): void {
    if (this.plot) setCursor(this.plot, this.state.cursor);
    this.fillLegend();
  }

  showTable(shown: boolean): void {
    this.table.hidden = !shown;
    (this.surface.parentElement as HTMLElement).hidden = shown;
    this.legend.root.hidden = shown;
    if (shown) this.fillTable();
    else this.resize();
  }

  destroy(): void {
    this.plot?.destroy();
    this.plot = null;
  }

  /** What a key press or the legend says of the place that is looked at. */
  get sentence(): string {
    const { store, shown } = this.state;
    const { spoken } = this.text;
    if (store.empty) return `${spoken}: nothing yet`;
    const values = shown.map(({ key, label }) => `${label} ${this.valueText(key)}`);
    return `${spoken} at ${this.placeText}: ${values.join(", ")}`;
  }

  /** Titles of the evaluations' metric come from the kernel. */
  private get text(): MetricText {
    const text = METRIC_TEXTS[this.metric];
    if (this.metric !== "metric") return text;
    for (const { key } of this.state.context.curves()) {
      const metric = this.state.store.curve(key)?.facts.metric;
      if (metric) return { ...text, ...metric, spoken: `${metric.title}, ${metric.unit}` };
    }
    return text;
  }

  private get logarithmic(): boolean {
    const { context, store } = this.state;
    return isLogarithmic(context.scaleOf(this.metric), store.spreads[this.metric] ?? 1);
  }

  private fillHead(): void {
    const { title, unit } = this.text;
    this.title.textContent = title;
    const tested = this.state.shown.some(({ key }) => this.state.store.curve(key)?.evaluations.step.length);
    const notes = [this.metric === "loss" && tested ? `${unit}, ● on the test split` : unit];
    if (this.metric === "throughput") notes.push(this.windowText());
    const spread = this.state.store.spreads[this.metric] ?? 1;
    const chosen = this.logarithmic && this.state.context.scaleOf(this.metric) === "auto";
    if (chosen) notes.push(`log axis, as curves differ ${formatSignificant(spread)} times`);
    const text = notes.filter(Boolean).join(", ");
    if (this.unit.textContent !== text) this.unit.textContent = text;
    this.unit.title = text;
    this.logarithm.setAttribute("aria-pressed", String(this.logarithmic));
    this.logarithm.setAttribute("aria-label", `Logarithmic scale of ${title}`);
    this.logarithm.title = "Logarithmic scale";
  }

  private windowText(): string {
    const { store, context } = this.state;
    const windows = context.curves().map(({ key }) => store.curve(key)?.facts.rate_window ?? 0);
    const over = Math.max(context.smoothing(), ...windows);
    return over > 0 ? `mean of the last ${over.toLocaleString("en")} steps` : "";
  }

  private lineFor(key: string): Line | null {
    const curve = this.state.store.curve(key);
    return curve ? lineOf(curve, this.metric, this.options) : null;
  }

  private get options() {
    const { context } = this.state;
    return { axis: context.axis(), smoothing: context.smoothing(), window: this.state.range };
  }

  private lines(): DrawnLine[] {
    const { highlighted, shown } = this.state;
    return shown.flatMap((look) => {
      const line = this.lineFor(look.key);
      if (!line) return [];
      const faded = highlighted !== null && highlighted !== look.key;
      return [{ line, faded, style: lineStyle(this.root, look), marks: this.marksOf(look.key) }];
    });
  }

  private marksOf(key: string): DrawnLine["marks"] {
    const curve = this.state.store.curve(key);
    if (this.metric !== "loss" || !curve) return [];
    return curve.facts.incidents.map(({ kind, step }) => ({
      x: positionOf(curve.overview, this.state.context.axis(), step),
      text: kind === "diverged" ? `diverges, step ${step}` : `not finite, step ${step}`,
    }));
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
      const line = this.lineFor(key);
      if (!line) continue;
      take(line.x, line.y);
      if (line.raw) take(line.x, line.raw);
      if (line.band) [line.band.low, line.band.high].forEach((edge) => take(line.x, edge));
      if (line.points) take(line.points.x, line.points.y);
    }
    return this.logarithmic ? logRange(low, high) : valueRange(low, high, this.text.fromZero);
  }

  private fillTable(): void {
    const { spoken, format } = this.text;
    const note = this.metric === "throughput" ? `, ${this.windowText()}` : "";
    const { shown, store } = this.state;
    fillPointTable(this.table, store, {
      title: `${spoken}${note}`,
      curves: shown,
      valueAt: (key, step) => {
        const curve = store.curve(key);
        if (!curve || curve.overview.lastStep < step) return "–";
        const options = { ...this.options, axis: "step" as const };
        const reading = readingAt(curve, this.metric, options, step);
        const value = this.metric === "metric" ? reading?.evaluation : reading?.value;
        return value == null ? "–" : Number.isFinite(value) ? format(value) : "not finite";
      },
    });
  }

  private fillLegend(): void {
    const { context } = this.state;
    this.legend.update(context.curves(), context.hidden(), (key) => this.valueText(key));
    const { sentence } = this;
    if (this.surface.getAttribute("aria-label") !== sentence) {
      this.surface.setAttribute("aria-label", sentence);
    }
    const found = this.metric === "loss" ? this.incidentTexts() : "";
    if (this.incidents.textContent !== found) this.incidents.textContent = found;
  }

  private incidentTexts(): string {
    return this.state.shown
      .flatMap(({ key, label }) =>
        [...(this.state.store.curve(key)?.facts.incidents ?? [])].sort((a, b) => a.step - b.step).map(({ text }) => `${label}: ${text}.`),
      )
      .join(" ");
  }

  private reading(key: string): Reading | null {
    const curve = this.state.store.curve(key);
    return curve ? readingAt(curve, this.metric, this.options, this.state.cursor) : null;
  }

  private valueText(key: string): string {
    const found = this.reading(key);
    if (!found) return "–";
    const { format } = this.text;
    const text = (value: number) => (Number.isFinite(value) ? format(value) : "not finite");
    if (this.metric === "metric") return found.evaluation === null ? "–" : text(found.evaluation);
    if (found.value === null || found.step === 0) return "–";
    if (this.metric !== "loss") return Number.isFinite(found.value) ? format(found.value) : "–";
    const test = found.evaluation === null ? "" : `, test ${text(found.evaluation)}`;
    return `${text(found.value)}${test}`;
  }

  private get placeText(): string {
    const { cursor, store, context, shown } = this.state;
    const axis = context.axis();
    if (axis === "step" || cursor === null) {
      const steps = shown.map(({ key }) => this.reading(key)?.step ?? 0);
      return `step ${cursor === null ? store.lastStep : Math.max(0, ...steps)}`;
    }
    return axis === "time" ? formatSeconds(cursor) : `${Math.round(cursor)} ${AXES[axis].label}`;
  }

  /** Carries out a key press; tells whether it had a meaning. */
  press(event: KeyboardEvent): boolean {
    const { state, listener } = this;
    const [low, high] = state.range;
    const middle = state.cursor ?? (low + high) / 2;
    const byKey: Record<string, () => void> = {
      ArrowLeft: () => this.move(event.shiftKey ? -10 : -1),
      ArrowRight: () => this.move(event.shiftKey ? 10 : 1),
      Home: () => listener.onPoint(this.blockAt(low, 0)),
      End: () => listener.onPoint(this.blockAt(high, 0)),
      Escape: () => listener.onPoint(null),
      PageUp: () => (state.pan((high - low) / -4), listener.onWindow()),
      PageDown: () => (state.pan((high - low) / 4), listener.onWindow()),
      "+": () => (state.zoom(middle, 0.5), listener.onWindow()),
      "=": () => (state.zoom(middle, 0.5), listener.onWindow()),
      "-": () => (state.zoom(middle, 2), listener.onWindow()),
      "0": () => listener.onReset(),
    };
    const act = byKey[event.key];
    if (!act || state.store.empty || event.ctrlKey || event.metaKey || event.altKey) return false;
    act();
    if (state.cursor !== null) listener.onRead(this.sentence);
    return true;
  }

  private move(blocks: number): void {
    const { cursor, range } = this.state;
    this.listener.onPoint(this.blockAt(cursor ?? range[1], cursor === null ? 0 : blocks));
  }

  /** Where the block lies that is `count` blocks after `x`, of the longest curve that is shown. */
  private blockAt(x: number, count: number): number | null {
    const { store, shown } = this.state;
    const { axis } = this.options;
    const known = shown.flatMap(({ key }) => store.curve(key) ?? []);
    const longest = known.sort((a, b) => b.overview.lastStep - a.overview.lastStep)[0];
    if (!longest || longest.overview.length === 0) return null;
    const { detail, overview } = longest;
    const near = axis === "step" ? x : stepAt(overview, axis, x);
    const covers = detail !== null && detail.length > 0 && (detail.step[0] as number) <= near && near <= detail.lastStep;
    const blocks = covers ? detail : overview;
    const place = positions(blocks, axis);
    const index = lastAtMost(place, x + 1e-9 * Math.abs(x)) + count;
    return place[Math.min(Math.max(index, 0), place.length - 1)] ?? null;
  }
}
