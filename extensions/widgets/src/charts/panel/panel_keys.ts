// The keys of a chart: along its curves, nearer and further, and back to all of it.

import { positions, stepAt } from "../series/axis";
import { lastAtMost } from "../series/block";
import type { PanelListener } from "./panel_listener";
import type { ViewState } from "./view_state";

/** Carries out a key press; returns whether it had a meaning. `sentence` reads the place then shown. */
export function pressKey(
  event: KeyboardEvent,
  state: ViewState,
  listener: PanelListener,
  sentence: () => string,
): boolean {
  const [low, high] = state.range;
  const middle = state.cursor ?? (low + high) / 2;
  const move = (blocks: number) => {
    const { cursor } = state;
    listener.onPoint(blockAt(state, cursor ?? high, cursor === null ? 0 : blocks));
  };
  const byKey: Record<string, () => void> = {
    ArrowLeft: () => move(event.shiftKey ? -10 : -1),
    ArrowRight: () => move(event.shiftKey ? 10 : 1),
    Home: () => listener.onPoint(blockAt(state, low, 0)),
    End: () => listener.onPoint(blockAt(state, high, 0)),
    Escape: () => listener.onPoint(null),
    PageUp: () => (state.pan((high - low) / -4), listener.onWindow()),
    PageDown: () => (state.pan((high - low) / 4), listener.onWindow()),
    "+": () => (state.zoom(middle, 0.5), listener.onWindow()),
    "=": () => (state.zoom(middle, 0.5), listener.onWindow()),
    "-": () => (state.zoom(middle, 2), listener.onWindow()),
    "0": () => listener.onReset(),
  };
  const act = byKey[event.key];
  if (event.key === "Escape" && state.cursor === null) return false;
  if (!act || state.store.empty || event.ctrlKey || event.metaKey || event.altKey) return false;
  act();
  if (state.cursor !== null) listener.onRead(sentence());
  return true;
}

/** Where the block lies that is `count` blocks after `x`, of the longest curve that is shown. */
function blockAt(state: ViewState, x: number, count: number): number | null {
  const axis = state.context.axis();
  const known = state.shown.flatMap(({ key }) => state.store.curve(key) ?? []);
  const longest = known.sort((a, b) => b.overview.lastStep - a.overview.lastStep)[0];
  if (!longest || longest.overview.length === 0) return null;
  const { detail, overview } = longest;
  const near = axis === "step" ? x : stepAt(overview, axis, x);
  const covers = detail !== null && detail.length > 0 && (detail.step[0] as number) <= near && near <= detail.lastStep;
  const blocks = covers ? detail : overview;
  const place = positions(blocks, axis);
  const index = lastAtMost(place, x + 1e-9 * Math.abs(x)) + count;
  return place[Math.min(Math.max(index, 0), place.length - 1)] ?? null;
}
