// The strokes of a drawing: points between 0 and 1, from the upper left corner.

export type Stroke = number[];

/** Points of one drawing that are kept; the kernel refuses more. */
export const MOST_POINTS = 4000;

/** Adds a point to the last stroke unless it lies where the one before does; false when all are used. */
export function addPoint(strokes: Stroke[], x: number, y: number): boolean {
  const stroke = strokes[strokes.length - 1];
  if (!stroke || pointCount(strokes) >= MOST_POINTS) return false;
  const near = (a: number | undefined, b: number) => a !== undefined && Math.abs(a - b) < 1e-3;
  const [left, top] = [clamp(x), clamp(y)];
  if (near(stroke[stroke.length - 2], left) && near(stroke[stroke.length - 1], top)) return true;
  stroke.push(left, top);
  return true;
}

export function pointCount(strokes: Stroke[]): number {
  return strokes.reduce((sum, stroke) => sum + stroke.length / 2, 0);
}

/** Number of points of each stroke, and all points one after another: x, y, x, y, ... */
export function packed(strokes: Stroke[]): { lengths: number[]; points: Float32Array } {
  const drawn = strokes.filter((stroke) => stroke.length > 0);
  return { lengths: drawn.map((stroke) => stroke.length / 2), points: Float32Array.from(drawn.flat()) };
}

function clamp(value: number): number {
  return Math.min(Math.max(value, 0), 1);
}
