// One frame for what several messages change.
//
// Status and points of a run are messages of their own that arrive some milliseconds apart. Drawn
// one by one each would cost the browser a frame of the whole page, which training then has not.

/** How long what arrives is collected, in milliseconds. */
const COLLECTED = 40;

interface Frame {
  draws: Set<() => void>;
  timer: number;
}

// Each widget is a bundle of its own, with its own copy of this module: the page has one frame.
const KEY = Symbol.for("workbench.frame");
const shared = globalThis as unknown as Record<symbol, Frame | undefined>;

/** Calls `draw` in a frame soon, with what else asks for one; asked for twice it is called once. */
export function drawSoon(draw: () => void): void {
  const frame = (shared[KEY] ??= { draws: new Set(), timer: 0 });
  frame.draws.add(draw);
  frame.timer ||= window.setTimeout(() => requestAnimationFrame(() => drawNow(frame)), COLLECTED);
}

/** Does not call `draw` any more. */
export function cancelDraw(draw: () => void): void {
  shared[KEY]?.draws.delete(draw);
}

function drawNow(frame: Frame): void {
  const draws = [...frame.draws];
  frame.draws.clear();
  frame.timer = 0;
  for (const draw of draws) {
    try {
      draw();
    } catch (error) {
      reportError(error); // the others are drawn
    }
  }
}
