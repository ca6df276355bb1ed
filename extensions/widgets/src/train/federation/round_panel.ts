// One chart of a federated run: lines over its rounds, or over another measure that grows with them.

import type uPlot from "uplot";
import type { HorizontalAxis } from "../../charts/series/axis";
import { OWN_KEYS } from "../../own_keys";
import { fitPlot, makePlot, setCursor, setRanges } from "../../charts/panel/plot";
import { type Range, valueRange } from "../../charts/panel/scales";
import { element, freshId } from "../../element";
import { type EngineStyle, lineSample, lineStyle, readTheme } from "../../theme";
import { zoomOf } from "../../zoom";

export interface RoundLine {
  y: ArrayLike<number>;
  style: EngineStyle;
  /** In CSS pixels. */
  width?: number;
}

/** Lines of one name in the legend. */
export interface LineGroup {
  name: string;
  lines: RoundLine[];
  /** The value in the legend at a round. */
  textAt: (index: number) => string;
}

export interface PanelContent {
  title: string;
  unit: string;
  axis: HorizontalAxis;
  /** Where each round lies on the horizontal axis. */
  x: Float64Array;
  range: Range;
  fromZero: boolean;
  groups: LineGroup[];
  /** Text before the first round. */
  hint: string;
}

export interface RoundPanelListener {
  /** The pointer or a key asks all charts to look at a round; null: at none. */
  onRound: (index: number | null) => void;
}

export class RoundPanel {
  readonly root: HTMLElement;
  readonly surface = element("div", { class: "wb-plot", role: "img", tabindex: "0", [OWN_KEYS]: "" });
  private plot: uPlot | null = null;
  private content: PanelContent | null = null;
  private cursor: number | null = null;
  private drawnAs = "";
  private readonly title = element("h3", { id: freshId("rounds") });
  private readonly unit = element("span", { class: "wb-unit" });
  private readonly hint = element("p", { class: "wb-plot-hint" });
  private readonly legend = element("ul", { class: "wb-legend wb-plain-legend" });

  constructor(private readonly listener: RoundPanelListener) {
    const head = element("div", { class: "wb-panel-head" }, this.title, this.unit);
    const frame = element("div", { class: "wb-plot-frame" }, this.surface, this.hint);
    this.root = element("div", { class: "wb-panel" }, head, this.legend, element("div", {}, frame));
    this.surface.addEventListener("keydown", (event) => this.press(event));
    this.surface.addEventListener("blur", () => listener.onRound(null));
  }

  draw(content: PanelContent, cursor: number | null): void {
    const drawnAs = `${content.axis.label} ${zoomOf(this.root)}`;
    this.content = content;
    this.cursor = cursor;
    this.title.textContent = content.title;
    this.unit.textContent = content.unit;
    this.hint.textContent = content.x.length ? "" : content.hint;
    if (!this.plot || drawnAs !== this.drawnAs) this.rebuild();
    this.drawnAs = drawnAs;
    this.resize();
    if (this.plot) {
      setRanges(this.plot, content.range, this.limits(content));
      this.markCursor(this.plot, content);
    }
    this.fillLegend(content);
  }

  /** All charts look at another round. */
  point(cursor: number | null): void {
    if (!this.content) return;
    this.cursor = cursor;
    if (this.plot) this.markCursor(this.plot, this.content);
    this.fillLegend(this.content);
  }

  private markCursor(plot: uPlot, { axis, x }: PanelContent): void {
    const at = this.cursor === null ? null : (x[this.cursor] ?? null);
    setCursor(plot, at, at === null ? "" : `${axis.label} ${axis.text(at, 1)}`);
  }

  /** Makes the plot again, in the theme of now. */
  rebuild(): void {
    this.destroy();
    const { content } = this;
    if (!content || !this.root.isConnected || !this.surface.clientWidth) return;
    const options = {
      theme: readTheme(this.root),
      axis: content.axis,
      logarithmic: false,
      lines: () => this.drawnLines(),
      onPoint: (x: number | null) => this.listener.onRound(x === null ? null : this.nearest(x)),
      onSelect: () => undefined,
    };
    this.plot = makePlot(options, this.surface);
    setRanges(this.plot, content.range, this.limits(content));
  }

  resize(): void {
    if (this.plot) fitPlot(this.plot, this.surface);
  }

  destroy(): void {
    this.plot?.destroy();
    this.plot = null;
  }

  /** Values of the chart at the round under the pointer, or at the last one. */
  get sentence(): string {
    const { content } = this;
    if (!content) return "";
    if (!content.x.length) return `${content.title}: ${content.hint}`;
    const at = this.shownIndex(content);
    const values = content.groups.map(({ name, textAt }) => `${name} ${textAt(at)}`.trim());
    return `${content.title}, ${content.axis.label} ${content.axis.text(content.x[at] ?? 0, 1)}: ${values.join(", ")}`;
  }

  private shownIndex({ x }: PanelContent): number {
    return Math.min(this.cursor ?? x.length - 1, x.length - 1);
  }

  private drawnLines() {
    const { content } = this;
    if (!content) return [];
    return content.groups.flatMap(({ lines }) =>
      lines.map(({ y, style, width }) => {
        const known = content.x.map((_, at) => at).filter((at) => Number.isFinite(y[at]));
        const line = {
          // A round without an evaluation does not break the line.
          x: Float64Array.from(known, (at) => content.x[at] as number),
          y: Float64Array.from(known, (at) => y[at] as number),
          raw: null,
          band: null,
          points: null,
          thin: [],
        };
        const shown = lineStyle(this.root, style);
        return { line, style: shown, faded: false, marks: [], ...(width ? { width } : {}) };
      }),
    );
  }

  private limits({ groups, fromZero, unit }: PanelContent): Range {
    let low = Infinity;
    let high = -Infinity;
    for (const { lines } of groups) {
      for (const { y } of lines) {
        for (let at = 0; at < y.length; at += 1) {
          const value = y[at] as number;
          if (!Number.isFinite(value)) continue;
          low = Math.min(low, value);
          high = Math.max(high, value);
        }
      }
    }
    return valueRange(low, high, fromZero, unit);
  }

  private fillLegend(content: PanelContent): void {
    const at = this.shownIndex(content);
    this.legend.replaceChildren(
      ...content.groups.map(({ name, lines, textAt }) => {
        const [first] = lines;
        const sample = first ? [lineSample(first.style)] : [];
        const label = element("span", { class: "wb-legend-name" }, name);
        const value = element("span", { class: "wb-legend-value" }, content.x.length ? textAt(at) : "");
        return element("li", {}, ...sample, label, value);
      }),
    );
    const { sentence } = this;
    if (this.surface.getAttribute("aria-label") !== sentence) this.surface.setAttribute("aria-label", sentence);
  }

  private nearest(x: number): number {
    const places = this.content?.x ?? new Float64Array();
    let best = 0;
    for (let at = 1; at < places.length; at += 1) {
      if (Math.abs((places[at] as number) - x) <= Math.abs((places[best] as number) - x)) best = at;
    }
    return best;
  }

  private press(event: KeyboardEvent): void {
    const last = (this.content?.x.length ?? 0) - 1;
    if (last < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = event.shiftKey ? 10 : 1;
    const at = this.cursor;
    const places: Record<string, number | null> = {
      ArrowLeft: at === null ? last : Math.max(0, at - by),
      ArrowRight: at === null ? last : Math.min(last, at + by),
      Home: 0,
      End: last,
      ...(at === null ? {} : { Escape: null }), // without a round it is the page's
    };
    const wanted = places[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.listener.onRound(wanted);
  }
}
