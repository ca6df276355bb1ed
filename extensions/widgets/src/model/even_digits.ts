// The numbers of a column of a table, with their points below each other.

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/;
const NO_NUMBER = /^(nan|-?inf)$/;

/** Significant digits of the largest number of a column, as the kernel sends them. */
const DIGITS = 4;
const MOST_DECIMALS = 6;
const [SMALLEST_PLAIN, LARGEST_PLAIN] = [1e-3, 1e6];

/** The texts of a column: numbers with as many digits after the point, others as they are. */
export function evenDigits(texts: string[]): string[] {
  const numbers = texts.filter((text) => NUMBER.test(text));
  const isOther = texts.some((text) => !NUMBER.test(text) && !NO_NUMBER.test(text));
  if (isOther || numbers.every((text) => /^-?\d+$/.test(text))) return texts;
  const sizes = numbers.map((text) => Math.abs(Number(text))).filter((size) => size > 0);
  const [low, high] = [Math.min(...sizes), Math.max(...sizes)];
  const write = writerOf(low, high, numbers);
  return texts.map((text) => (NUMBER.test(text) ? write(Number(text)) : text));
}

function writerOf(low: number, high: number, numbers: string[]): (value: number) => string {
  if (high < low) return String; // all are 0
  if (high >= LARGEST_PLAIN || high < SMALLEST_PLAIN) return (value) => value.toExponential(DIGITS - 1);
  const wanted = DIGITS - 1 - Math.floor(Math.log10(high));
  // The smallest is not written as 0.
  const least = Math.ceil(-Math.log10(low));
  const most = Math.min(Math.max(wanted, least, 0), MOST_DECIMALS);
  const needed = Math.max(...numbers.map((text) => decimals(Number(text).toFixed(most))));
  return (value) => value.toFixed(Math.min(most, needed));
}

/** Digits after the point but zeros at the end. */
function decimals(text: string): number {
  return /\.(\d*?)0*$/.exec(text)?.[1]?.length ?? 0;
}
