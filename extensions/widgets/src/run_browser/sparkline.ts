// A small drawing of a run's loss.

const SVG = "http://www.w3.org/2000/svg";
export const WIDTH = 88;
export const HEIGHT = 24;
const MARGIN = 2;

/** The path through the finite points; a gap where there are none. */
export function sparklinePath(curve: Float32Array): string {
  const finite = curve.filter(Number.isFinite);
  if (finite.length === 0) return "";
  const low = Math.min(...finite);
  const span = Math.max(...finite) - low || 1;
  const x = (index: number) => MARGIN + (index / Math.max(1, curve.length - 1)) * (WIDTH - 2 * MARGIN);
  const y = (value: number) => HEIGHT - MARGIN - ((value - low) / span) * (HEIGHT - 2 * MARGIN);
  let path = "";
  let pen = "M";
  curve.forEach((value, index) => {
    if (!Number.isFinite(value)) {
      pen = "M";
      return;
    }
    path += `${pen}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = "L";
  });
  // A single point is drawn as a dot, by a line of no length with round ends.
  return finite.length === 1 ? `${path}h0` : path;
}

/** Decorative: the values stand beside it as text. */
export function sparkline(curve: Float32Array): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("wb-sparkline");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", sparklinePath(curve));
  svg.append(path);
  return svg;
}

/** The same for those who do not see it. */
export function sparklineText(curve: Float32Array): string {
  const finite = curve.filter(Number.isFinite);
  if (finite.length === 0) return "no loss";
  return `loss, averaged, from ${(finite[0] as number).toPrecision(3)} to ${(finite.at(-1) as number).toPrecision(3)}`;
}
