// JupyterLab's theme, read from its CSS variables, and the look of each engine's line.

export interface Theme {
  text: string;
  grid: string;
  axis: string;
  background: string;
  font: string;
}

export interface LineStyle {
  /** CSS colour, already resolved for the theme in force. */
  color: string;
  /** Lengths of dashes and gaps in CSS pixels; empty for a solid line. */
  dash: number[];
}

// Every engine has its dashes as well as its colour, so that no reader depends on colour alone.
const DASHES: Record<string, number[]> = {
  pytorch: [],
  "pytorch-compile": [11, 4],
  ondevice: [7, 3, 2, 3],
  ortmodule: [3, 3],
  fake: [5, 5],
};

export function readTheme(within: Element): Theme {
  const style = getComputedStyle(within);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: read("--wb-text-muted"),
    grid: read("--wb-grid"),
    axis: read("--wb-border"),
    background: read("--wb-surface"),
    font: `11px ${style.fontFamily}`,
  };
}

export function lineStyle(within: Element, engine: string): LineStyle {
  const style = getComputedStyle(within);
  const own = style.getPropertyValue(`--wb-engine-${engine}`).trim();
  return {
    color: own || style.getPropertyValue("--wb-engine-other").trim(),
    dash: DASHES[engine] ?? [6, 2],
  };
}

/** A short sample of an engine's line, for legends and lists; decorative. */
export function lineSample(engine: string): SVGSVGElement {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  const line = document.createElementNS(namespace, "line");
  for (const [name, value] of Object.entries({ x1: 0, x2: 26, y1: 4, y2: 4 })) {
    line.setAttribute(name, String(value));
  }
  line.setAttribute("stroke-dasharray", (DASHES[engine] ?? [6, 2]).join(" "));
  line.style.stroke = `var(--wb-engine-${engine}, var(--wb-engine-other))`;
  svg.setAttribute("viewBox", "0 0 26 8");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("wb-line-sample");
  svg.append(line);
  return svg;
}

/** How long after a switch of theme its style sheet may still be on its way, in milliseconds. */
const STYLE_SHEET_DELAYS = [0, 150, 600];

/** Calls `callback` after every switch of theme, until `signal` aborts. */
export function onThemeChange(callback: () => void, signal: AbortSignal): void {
  const timers = new Set<number>();
  const observer = new MutationObserver(() => {
    for (const delay of STYLE_SHEET_DELAYS) timers.add(window.setTimeout(callback, delay));
  });
  observer.observe(document.body, {
    attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "class"],
  });
  signal.addEventListener("abort", () => {
    observer.disconnect();
    for (const timer of timers) window.clearTimeout(timer);
  });
}
