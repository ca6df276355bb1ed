// Numbers as people read them, in one width for all digits.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 6 });

/** Beyond it digits are no longer read: the loss of a diverged run may be 9.04e+26. */
const LARGEST_PLAIN = 1e9;

/** 12,345 */
export function formatWhole(value: number): string {
  return whole.format(value);
}

/** 1 node, 12,345 nodes */
export function counted(count: number, noun: string): string {
  return `${whole.format(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * A ratio or a throughput with three significant digits: 0.00283 · 1.07 · 364 · 12,300.
 * The same as `significant` in number_format.py, halves away from zero included.
 */
export function formatSignificant(value: number): string {
  if (value === 0) return "0";
  const plain = Math.abs(value) >= 1e-4 && Math.abs(value) < LARGEST_PLAIN;
  if (!plain) return scientific(value);
  const rounded = value.toPrecision(3);
  return Math.abs(value) >= 99.95 ? whole.format(Number(rounded)) : rounded;
}

/** 9.04e+26 · 5.00e-04: with two digits of the exponent, as Python writes it. */
function scientific(value: number, digits = 3): string {
  return value.toExponential(digits - 1).replace(/e([+-])(\d)$/, "e$10$2");
}

/** Megabytes: 331 · 51.7. */
export function formatMegabytes(value: number): string {
  return value >= 100 ? whole.format(value) : value.toFixed(1);
}

/** A difference: two significant digits, with an exponent once it is small: 1.9 · 4.8e-07. */
export function formatDifference(value: number): string {
  if (value === 0) return "0";
  return Math.abs(value) < 0.01 ? scientific(value, 2) : value.toPrecision(2);
}

/** A loss: four digits after the point, or an exponent when that would show next to nothing. The same as `loss_text`. */
export function formatLoss(value: number): string {
  if (value === 0) return "0";
  if (Math.abs(value) < 1e-3 || Math.abs(value) >= LARGEST_PLAIN) return scientific(value);
  return Math.abs(value) >= 1000 ? whole.format(value) : value.toFixed(4);
}

/** `text` whose numbers stay in one line with their units: 91.6 % · 2 min · 34 MB. */
export function unbroken(text: string): string {
  return text.replace(/(\d) (?=(?:%|µs|ms|s|min|h|B|kB|MB|GB)(?![\w%]))/g, "$1\u00a0");
}

/** A tick of an axis, with a prefix from a thousand on: 0.5 · 200 · 10k · 1.5M. */
export function formatTick(value: number): string {
  return compact.format(value).replace("K", "k");
}

/** Bytes in decimal units, three significant digits or more: 512 B · 34.0 kB · 1.07 MB. */
export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let power = 0;
  while (bytes >= 1000 && power < units.length - 1) {
    bytes /= 1000;
    power += 1;
  }
  return `${power === 0 ? whole.format(bytes) : formatSignificant(bytes)}\u00a0${units[power]}`;
}
