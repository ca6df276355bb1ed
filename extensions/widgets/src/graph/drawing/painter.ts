// Targets of the drawing of a scene: a canvas, or the text of an SVG file.

import type { Point } from "../layout/layout";

export interface BoxStyle {
  fill?: string;
  stroke?: string;
  width?: number;
  dash?: number[];
  radius?: number;
  /** Of the fill, 0 to 1. */
  opacity?: number;
}

export interface TextStyle {
  size: number;
  color: string;
  bold?: boolean;
  align?: "left" | "center" | "right";
  /** Longer text is cut, with an ellipsis. */
  widest?: number;
}

export interface LineStyle {
  color: string;
  width: number;
  arrow?: boolean;
}

export interface Painter {
  box(x: number, y: number, width: number, height: number, style: BoxStyle): void;
  /** `y` is the middle of the text. */
  text(x: number, y: number, text: string, style: TextStyle): void;
  line(points: Point[], style: LineStyle): void;
}

const ARROW = 5;

/** A curve through points: straight for two, else with round corners; ends before the arrow's tip. */
function segments(points: Point[]): { start: Point; curves: [Point, Point][]; end: Point } {
  const [start, ...rest] = points as [Point, ...Point[]];
  const end = rest.pop()!;
  const curves: [Point, Point][] = [];
  rest.forEach((point, index) => {
    const next = rest[index + 1] ?? end;
    curves.push([point, { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 }]);
  });
  return { start, curves, end };
}

function arrowHead(points: Point[]): [Point, Point, Point] {
  const tip = points[points.length - 1]!;
  const before = points[points.length - 2]!;
  const length = Math.hypot(tip.x - before.x, tip.y - before.y) || 1;
  const [dx, dy] = [(tip.x - before.x) / length, (tip.y - before.y) / length];
  const base = { x: tip.x - ARROW * 1.5 * dx, y: tip.y - ARROW * 1.5 * dy };
  return [
    tip,
    { x: base.x - (ARROW * dy) / 1.6, y: base.y + (ARROW * dx) / 1.6 },
    { x: base.x + (ARROW * dy) / 1.6, y: base.y - (ARROW * dx) / 1.6 },
  ];
}

export class CanvasPainter implements Painter {
  private readonly cut = new Map<string, string>();

  constructor(
    readonly context: CanvasRenderingContext2D,
    private readonly font: string,
  ) {}

  box(x: number, y: number, width: number, height: number, style: BoxStyle): void {
    const { context } = this;
    context.beginPath();
    context.roundRect(x, y, width, height, style.radius ?? 5);
    if (style.fill) {
      context.globalAlpha = style.opacity ?? 1;
      context.fillStyle = style.fill;
      context.fill();
      context.globalAlpha = 1;
    }
    if (style.stroke) {
      context.setLineDash(style.dash ?? []);
      context.lineWidth = style.width ?? 1;
      context.strokeStyle = style.stroke;
      context.stroke();
      context.setLineDash([]);
    }
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const { context } = this;
    context.font = `${style.bold ? "600 " : ""}${style.size}px ${this.font}`;
    context.fillStyle = style.color;
    context.textAlign = style.align ?? "left";
    context.textBaseline = "middle";
    context.fillText(style.widest ? this.shortened(text, style) : text, x, y);
  }

  line(points: Point[], style: LineStyle): void {
    const { context } = this;
    const { start, curves, end } = segments(points);
    context.beginPath();
    context.moveTo(start.x, start.y);
    for (const [control, to] of curves) context.quadraticCurveTo(control.x, control.y, to.x, to.y);
    context.lineTo(end.x, end.y);
    context.lineWidth = style.width;
    context.strokeStyle = style.color;
    context.stroke();
    if (!style.arrow) return;
    const [tip, left, right] = arrowHead(points);
    context.beginPath();
    context.moveTo(tip.x, tip.y);
    context.lineTo(left.x, left.y);
    context.lineTo(right.x, right.y);
    context.closePath();
    context.fillStyle = style.color;
    context.fill();
  }

  private shortened(text: string, style: TextStyle): string {
    const key = `${style.size}${style.bold ? "b" : ""}${style.widest} ${text}`;
    let found = this.cut.get(key);
    if (found === undefined) {
      found = shorten(text, style.widest!, (part) => this.context.measureText(part).width);
      if (this.cut.size > 20_000) this.cut.clear();
      this.cut.set(key, found);
    }
    return found;
  }
}

/** The text, or as much of its beginning as is no wider than `widest`, with an ellipsis. */
export function shorten(text: string, widest: number, measure: (text: string) => number): string {
  if (measure(text) <= widest) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measure(`${text.slice(0, middle)}…`) <= widest) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}

const ANCHORS = { left: "start", center: "middle", right: "end" };

export class SvgPainter implements Painter {
  private readonly parts: string[] = [];

  box(x: number, y: number, width: number, height: number, style: BoxStyle): void {
    const dash = style.dash ? ` stroke-dasharray="${style.dash.join(" ")}"` : "";
    this.parts.push(
      `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" ` +
        `rx="${style.radius ?? 5}" fill="${style.fill ?? "none"}" fill-opacity="${style.opacity ?? 1}" ` +
        `stroke="${style.stroke ?? "none"}" stroke-width="${style.width ?? 1}"${dash}/>`,
    );
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const character = style.size * (style.bold ? 0.62 : 0.56);
    const shown = style.widest ? shorten(text, style.widest, (part) => part.length * character) : text;
    this.parts.push(
      `<text x="${round(x)}" y="${round(y)}" font-size="${style.size}" fill="${style.color}" ` +
        `font-weight="${style.bold ? 600 : 400}" text-anchor="${ANCHORS[style.align ?? "left"]}" ` +
        `dominant-baseline="central">${escaped(shown)}</text>`,
    );
  }

  line(points: Point[], style: LineStyle): void {
    const { start, curves, end } = segments(points);
    const path = [`M${round(start.x)} ${round(start.y)}`];
    for (const [control, to] of curves) {
      path.push(`Q${round(control.x)} ${round(control.y)} ${round(to.x)} ${round(to.y)}`);
    }
    path.push(`L${round(end.x)} ${round(end.y)}`);
    this.parts.push(
      `<path d="${path.join("")}" fill="none" stroke="${style.color}" stroke-width="${style.width}"/>`,
    );
    if (!style.arrow) return;
    const corners = arrowHead(points).map(({ x, y }) => `${round(x)},${round(y)}`);
    this.parts.push(`<polygon points="${corners.join(" ")}" fill="${style.color}"/>`);
  }

  /** The file, with a title for those who cannot see it. */
  document(width: number, height: number, background: string, font: string, title: string): string {
    const box = `${round(-MARGIN)} ${round(-MARGIN)} ${round(width + 2 * MARGIN)} ${round(height + 2 * MARGIN)}`;
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}" width="${round(width + 2 * MARGIN)}" ` +
      `height="${round(height + 2 * MARGIN)}" font-family="${escaped(font)}" role="img">` +
      `<title>${escaped(title)}</title>` +
      `<rect x="${-MARGIN}" y="${-MARGIN}" width="100%" height="100%" fill="${background}"/>` +
      `${this.parts.join("")}</svg>\n`
    );
  }
}

const MARGIN = 16;

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (found) => `&#${found.charCodeAt(0)};`);
}
