// Places on the canvas of a chart.

import type uPlot from "uplot";
import { lastAtMost } from "../series/block";
import { zoomOf } from "../../zoom";

/** Pixels of the canvas for a CSS pixel of the page. */
export function scaleOf(plot: uPlot): number {
  return devicePixelRatio * zoomOf(plot.root);
}

/** On a logarithmic axis, which has no 0, a 0 is at its lower end. */
export function topOf(plot: uPlot, value: number): number {
  const { distr, min } = plot.scales["y"] as uPlot.Scale;
  return plot.valToPos(distr === 3 ? Math.max(value, min ?? value) : value, "y", true);
}

/** Indices of the points within the plot, and one more at each side. */
export function shownIndices(plot: uPlot, x: Float64Array): [number, number] {
  const { min, max } = plot.scales["x"] as uPlot.Scale;
  const first = Math.max(0, lastAtMost(x, min ?? 0));
  return [first, Math.min(x.length - 1, lastAtMost(x, max ?? 0) + 1)];
}
