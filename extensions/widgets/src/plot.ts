// One uPlot chart in the look of JupyterLab's theme: axes, lines with dashes, and a cursor.

import uPlot from "uplot";
import { type LineStyle, type Theme } from "./theme";

export interface PlotOptions {
  lines: LineStyle[];
  theme: Theme;
  /** Whether values are spread by their logarithm. */
  logarithmic: boolean;
  /** Whether the axis of values begins at zero. */
  fromZero: boolean;
  /** The last step that the axis of steps shows; 0: the last step there is. */
  totalSteps: () => number;
  /** Called with the step under the pointer, or null when the pointer leaves. */
  onStep: (step: number | null) => void;
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });

export function makePlot(options: PlotOptions, data: uPlot.AlignedData, into: HTMLElement): uPlot {
  const { theme, lines } = options;
  const axis = {
    stroke: theme.text,
    font: theme.font,
    grid: { stroke: theme.grid, width: 1 },
    ticks: { stroke: theme.axis, width: 1, size: 4 },
    values: (_: uPlot, splits: (number | null)[]) =>
      splits.map((split) => (split === null ? "" : compact.format(split))),
  };
  const plot = new uPlot(
    {
      width: Math.max(into.clientWidth, 120),
      height: Math.max(into.clientHeight, 80),
      padding: [8, 18, 0, 0],
      legend: { show: false },
      select: { show: false, left: 0, top: 0, width: 0, height: 0 },
      cursor: {
        y: false,
        drag: { x: false, y: false },
        points: { size: 7, width: 2, fill: () => theme.background },
      },
      scales: {
        x: { time: false, range: (_, __, max) => [0, options.totalSteps() || Math.max(max ?? 1, 1)] },
        y: {
          distr: options.logarithmic ? 3 : 1,
          ...(options.logarithmic
            ? {}
            : { range: (_: uPlot, min: number, max: number) => range(min, max, options.fromZero) }),
        },
      },
      axes: [
        { ...axis, label: "step", labelFont: theme.font, labelSize: 16, labelGap: 0, size: 28, space: 48 },
        { ...axis, size: 46, space: 34 },
      ],
      series: [
        {},
        ...lines.map((line) => ({
          stroke: line.color,
          dash: line.dash,
          width: 1.75,
          spanGaps: true,
          points: { show: false },
        })),
      ],
      hooks: {
        setCursor: [
          (plot) => {
            // uPlot also calls this when data move beneath a resting cursor; only a pointer counts.
            if (!plot.over.matches(":hover")) return;
            const index = plot.cursor.idx;
            options.onStep(index == null ? null : (plot.data[0][index] ?? null));
          },
        ],
      },
    },
    data,
    into,
  );
  plot.over.addEventListener("mouseleave", () => options.onStep(null));
  return plot;
}

/** Puts the cursor of `plot` on `step`, or takes it away, without telling anybody. */
export function setCursorStep(plot: uPlot, step: number | null): void {
  const left = step === null ? -10 : plot.valToPos(step, "x");
  plot.setCursor({ left, top: step === null ? -10 : plot.over.clientHeight / 2 }, false);
}

/** Limits of the values with some air around them; never nothing between them. */
function range(min: number | null, max: number | null, fromZero: boolean): uPlot.Range.MinMax {
  if (min === null || max === null) return [0, 1];
  const low = fromZero ? 0 : min;
  const air = 0.08 * (max - low || Math.abs(max) || 1);
  const bottom = fromZero || (min >= 0 && min < air) ? 0 : min - air;
  return [bottom, max + air];
}
