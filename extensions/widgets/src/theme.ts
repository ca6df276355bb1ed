// JupyterLab's theme, read from its CSS variables, and the style of each engine's line.

import { typeScaleOf, zoomOf } from "./zoom";

export interface Theme {
  text: string;
  grid: string;
  axis: string;
  background: string;
  error: string;
  /** In CSS pixels of a chart, as uPlot takes it: a whole number of them. */
  font: string;
  /** How many times larger than usual a chart is drawn. */
  zoom: number;
  /** How many times larger than usual its text is. */
  textZoom: number;
}

export interface LineStyle {
  /** CSS colour, already resolved for the theme in force. */
  color: string;
  /** Lengths of dashes and gaps in CSS pixels; empty for a solid line. */
  dash: number[];
}

/** The style of an engine's line, as the kernel sends it. */
export interface EngineStyle {
  /** On a light background, "#rrggbb". */
  color: string;
  /** On a dark background. */
  dark_color: string;
  /** Lengths of dashes and gaps in CSS pixels; empty for a solid line. */
  dash: number[];
}

/** By name of the engine. */
export type EngineStyles = Record<string, EngineStyle>;

/** Of an engine that the kernel has stated nothing about. */
const OTHER: EngineStyle = { color: "#be185d", dark_color: "#f9a8d4", dash: [6, 2] };

export function readTheme(within: Element): Theme {
  const style = getComputedStyle(within);
  const read = (name: string) => style.getPropertyValue(name).trim();
  const zoom = zoomOf(within);
  const textZoom = zoom * typeScaleOf(within);
  return {
    text: read("--wb-text-muted"),
    grid: read("--wb-grid"),
    axis: read("--wb-border"),
    background: read("--wb-surface"),
    error: read("--wb-error"),
    font: `${Math.round(11 * textZoom)}px ${style.fontFamily}`,
    zoom,
    textZoom,
  };
}

export function lineStyle(within: Element, style: EngineStyle = OTHER): LineStyle {
  const dark = within.closest('[data-jp-theme-light="false"]') !== null;
  return { color: dark ? style.dark_color : style.color, dash: style.dash };
}

/** A short sample of an engine's line, for legends and lists; decorative. */
export function lineSample(style: EngineStyle = OTHER): SVGSVGElement {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  const line = document.createElementNS(namespace, "line");
  for (const [name, value] of Object.entries({ x1: 0, x2: 26, y1: 4, y2: 4 })) {
    line.setAttribute(name, String(value));
  }
  line.setAttribute("stroke-dasharray", style.dash.join(" "));
  // tokens.css chooses between the two by the theme.
  line.style.setProperty("--wb-line-color", style.color);
  line.style.setProperty("--wb-line-dark-color", style.dark_color);
  svg.setAttribute("viewBox", "0 0 26 8");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("wb-line-sample");
  svg.append(line);
  return svg;
}

/** How long after a switch of theme its style sheet may still be on its way, in milliseconds. */
const STYLE_SHEET_DELAYS = [0, 150, 600];

/** Calls `callback` after every switch of theme or font size, until `signal` aborts. */
export function onThemeChange(callback: () => void, signal: AbortSignal): void {
  const timers = new Set<number>();
  const observer = new MutationObserver(() => {
    for (const delay of STYLE_SHEET_DELAYS) timers.add(window.setTimeout(callback, delay));
  });
  observer.observe(document.body, {
    attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "class"],
  });
  // There JupyterLab sets the font size that a user has chosen.
  observer.observe(document.documentElement, { attributeFilter: ["style"] });
  signal.addEventListener("abort", () => {
    observer.disconnect();
    for (const timer of timers) window.clearTimeout(timer);
  });
}
