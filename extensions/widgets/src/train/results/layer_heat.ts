// A measure of every layer over the steps, as shades on a logarithmic scale.

/** (layers, steps), one layer after another. */
export interface Series {
  layers: number;
  steps: number;
  values: Float32Array;
}

/** Smallest and largest positive value; null if there is none. */
export function extent({ values }: Series): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!(value > 0) || value === Infinity) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

/** The least and the largest finite value, those of 0 included; null: there is none. */
export function limits(values: Float32Array): [number, number] | null {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : null;
}

/** Where a value lies between `low` and `high`, 0 to 1, by its logarithm; NaN if not positive. */
export function share(value: number, [low, high]: [number, number]): number {
  if (!(value >= 0)) return NaN;
  if (value <= low || high <= low) return value < low || high > low ? 0 : 1;
  return Math.min(1, Math.log(value / low) / Math.log(high / low));
}

/** Draws one layer, a pixel a step; the style sheet stretches it. */
export function drawRow(
  canvas: HTMLCanvasElement,
  series: Series,
  layer: number,
  range: [number, number] | null,
  colors: { shade: string; error: string },
): void {
  canvas.width = Math.max(1, series.steps);
  canvas.height = 1;
  const context = canvas.getContext("2d");
  if (!context) return;
  for (let step = 0; step < series.steps; step += 1) {
    const at = share(series.values[layer * series.steps + step] ?? NaN, range ?? [0, 0]);
    context.globalAlpha = Number.isNaN(at) ? 1 : 0.06 + 0.94 * at;
    context.fillStyle = Number.isNaN(at) ? colors.error : colors.shade;
    context.fillRect(step, 0, 1, 1);
  }
}
