// How much larger a presentation shows the page (page.css), for what draws pixels of its own. In a
// chart (charts.css) the enlargement is undone, since uPlot would blur its canvas and misread the
// pointer; what is drawn there is larger instead.

/** How many times larger than elsewhere everything around `el` is. */
export function zoomOf(el: Element): number {
  return Number(getComputedStyle(el).getPropertyValue("--wb-zoom")) || 1;
}

/** How many times larger than by default JupyterLab's font size is; tokens.css does the same. */
export function typeScaleOf(el: Element): number {
  return Number.parseFloat(getComputedStyle(el).getPropertyValue("--jp-ui-font-size1")) / 13 || 1;
}
