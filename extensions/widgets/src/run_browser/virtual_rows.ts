// Which rows of a long list are in view, and where it has to be scrolled to.

export interface Window {
  first: number;
  /** After the last. */
  end: number;
}

const MARGIN_ROWS = 6;

/** The rows to draw: those in view and some around them. */
export function rowsInView(
  scrollTop: number,
  height: number,
  rowHeight: number,
  count: number,
): Window {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - MARGIN_ROWS);
  const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + MARGIN_ROWS);
  return { first: Math.min(first, end), end };
}

/** Where to scroll to so that what is at the top stays there when rows come and go around it. */
export function anchoredScroll(
  before: string[],
  after: string[],
  scrollTop: number,
  rowHeight: number,
): number {
  const top = Math.floor(scrollTop / rowHeight);
  const places = new Map(after.map((id, index) => [id, index]));
  for (let index = top; index < before.length; index += 1) {
    const place = places.get(before[index] as string);
    if (place !== undefined) return Math.max(0, scrollTop + (place - index) * rowHeight);
  }
  return scrollTop;
}

/** Where to scroll to so that the whole row `index` is in view; `scrollTop` if it is. */
export function scrollIntoView(
  index: number,
  scrollTop: number,
  height: number,
  rowHeight: number,
): number {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  return Math.max(scrollTop, top + rowHeight - height);
}
