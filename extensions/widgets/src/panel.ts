// One chart with its title, legend and table twin. It shows one metric of every engine by step.

import type uPlot from "uplot";
import { curves, valueAt } from "./curve";
import { element, freshId } from "./element";
import { Legend } from "./legend";
import { formatLoss, formatMegabytes, formatSignificant } from "./number_format";
import { makePlot, setCursorStep } from "./plot";
import { fillPointTable } from "./point_table";
import { type Metric, type SeriesStore } from "./series_store";
import { lineStyle, readTheme } from "./theme";

interface Look {
  title: string;
  /** Title and unit as they are read aloud. */
  spoken: string;
  unit: string;
  note?: string;
  fromZero: boolean;
  format: (value: number) => string;
}

const LOOKS: Record<Metric, Look> = {
  loss: { title: "Loss", spoken: "Loss per batch", unit: "per batch", fromZero: false, format: formatLoss },
  throughput: {
    title: "Throughput",
    spoken: "Throughput in samples per second",
    unit: "samples/s",
    note: "running mean",
    fromZero: true,
    format: formatSignificant,
  },
  memory: {
    title: "Memory",
    spoken: "Memory in megabytes",
    unit: "MB",
    note: "resident set",
    fromZero: true,
    format: formatMegabytes,
  },
};

export interface PanelListener {
  /** The pointer or a key asks all charts to look at `step`; null: at none. */
  onStep: (step: number | null) => void;
  /** What a key press found, for those who listen. */
  onRead: (sentence: string) => void;
}

export class Panel {
  readonly root: HTMLElement;
  private readonly look: Look;
  private readonly surface = element("div", { class: "wb-plot", role: "img", tabindex: "0" });
  private readonly hint = element("p", { class: "wb-plot-hint" });
  private readonly legend = new Legend();
  private readonly table = element("table", { class: "wb-table wb-point-table", hidden: "" });
  private readonly logarithm = element("button", { type: "button", class: "wb-toggle" }, "log");
  private plot: uPlot | null = null;
  private drawnEngines = "";
  private logarithmic = false;
  private step: number | null = null;

  constructor(
    readonly metric: Metric,
    private readonly store: SeriesStore,
    private readonly totalSteps: () => number,
    private readonly hintText: () => string,
    private readonly listener: PanelListener,
  ) {
    this.look = LOOKS[metric];
    const title = element("h3", { id: freshId("chart") }, this.look.title);
    const unit = element("span", { class: "wb-unit" }, this.look.unit);
    if (this.look.note) unit.append(element("span", { class: "wb-note" }, `, ${this.look.note}`));
    const head = element("div", { class: "wb-panel-head" }, title, unit);
    if (metric === "loss") head.append(this.logarithm);
    this.logarithm.setAttribute("aria-pressed", "false");
    this.logarithm.title = "Spread the values by their logarithm";
    this.logarithm.addEventListener("click", () => this.setLogarithmic(!this.logarithmic));
    const frame = element("div", { class: "wb-plot-frame" }, this.surface, this.hint);
    this.root = element("div", { class: `wb-panel wb-panel-${metric}` }, head, this.legend.root, frame, this.table);
    this.surface.addEventListener("keydown", (event) => this.onKey(event));
    this.surface.addEventListener("blur", () => this.listener.onStep(null));
  }

  /** Draws what the store holds now. */
  draw(): void {
    const engines = this.store.engines.join();
    if (!this.plot || engines !== this.drawnEngines) this.rebuild();
    else this.plot.setData(curves(this.store, this.metric));
    this.hint.textContent = this.store.empty ? this.hintText() : "";
    this.fillLegend();
    if (!this.table.hidden) this.fillTable();
  }

  /** Makes the plot anew: its lines or the theme have changed. */
  rebuild(): void {
    if (!this.root.isConnected) return;
    this.plot?.destroy();
    this.drawnEngines = this.store.engines.join();
    this.plot = makePlot(
      {
        lines: this.store.engines.map((engine) => lineStyle(this.root, engine)),
        theme: readTheme(this.root),
        logarithmic: this.logarithmic,
        fromZero: this.look.fromZero,
        totalSteps: this.totalSteps,
        onStep: (step) => this.listener.onStep(step),
      },
      curves(this.store, this.metric),
      this.surface,
    );
    setCursorStep(this.plot, this.step);
  }

  resize(): void {
    const { clientWidth: width, clientHeight: height } = this.surface;
    if (this.plot && width > 0 && height > 0) this.plot.setSize({ width, height });
  }

  setStep(step: number | null): void {
    this.step = step;
    if (this.plot) setCursorStep(this.plot, step);
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

  private setLogarithmic(on: boolean): void {
    this.logarithmic = on;
    this.logarithm.setAttribute("aria-pressed", String(on));
    this.rebuild();
  }

  private fillTable(): void {
    const { spoken, note, format } = this.look;
    const title = note ? `${spoken}, ${note}` : spoken;
    fillPointTable(this.table, this.store, { title, metric: this.metric, format });
  }

  private fillLegend(): void {
    this.legend.update(this.store.engines, (engine) => this.valueText(engine));
    this.surface.setAttribute("aria-label", this.sentence());
  }

  private valueText(engine: string): string {
    const value = valueAt(this.store, engine, this.metric, this.step);
    return value === null ? "–" : this.look.format(value);
  }

  private sentence(): string {
    const { spoken } = this.look;
    if (this.store.empty) return `${spoken}: nothing yet`;
    const values = this.store.engines.map((engine) => `${engine} ${this.valueText(engine)}`);
    return `${spoken} at step ${this.step ?? this.store.lastStep}: ${values.join(", ")}`;
  }

  private onKey(event: KeyboardEvent): void {
    const stride = event.shiftKey ? 10 : 1;
    const from = this.step ?? this.store.lastStep;
    const moves: Record<string, () => number | null> = {
      ArrowLeft: () => this.store.stepAfter(from, this.step === null ? 0 : -stride),
      ArrowRight: () => this.store.stepAfter(from, this.step === null ? 0 : stride),
      Home: () => this.store.stepAfter(1, 0),
      End: () => this.store.lastStep,
      Escape: () => null,
    };
    const move = moves[event.key];
    if (!move || this.store.empty) return;
    // The notebook has its own meaning for these keys.
    event.preventDefault();
    event.stopPropagation();
    this.listener.onStep(move());
    if (this.step !== null) this.listener.onRead(this.sentence());
  }
}
