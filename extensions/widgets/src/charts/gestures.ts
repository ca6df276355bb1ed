// Mouse gestures on a chart other than pointing and selecting: wheel, pan, double click.

import type { Panel } from "./panel/panel";
import type { PanelListener } from "./panel/panel_listener";
import type { ViewState } from "./panel/view_state";

/** Change of the length of the window for one notch of a wheel. */
const NOTCH = 1.25;

export function followGestures(panel: Panel, state: ViewState, listener: PanelListener): void {
  const { surface } = panel;
  surface.addEventListener("keydown", (event) => {
    if (!panel.press(event)) return;
    // The notebook has its own meaning for these keys.
    event.preventDefault();
    event.stopPropagation();
  });
  surface.addEventListener("dblclick", () => listener.onReset());
  surface.addEventListener("pointerdown", (event) => {
    surface.focus({ preventScroll: true });
    if (event.shiftKey || event.button === 1) startPan(panel, state, listener, event);
    // Else a selection that leaves the chart above or below goes on to its edge.
    else if (event.target === panel.plot?.over) panel.plot.over.setPointerCapture(event.pointerId);
  });
  surface.addEventListener(
    "wheel",
    (event) => {
      // Without a click first, the wheel scrolls the notebook, also where a chart lies beneath it.
      if (!event.ctrlKey && document.activeElement !== surface) return;
      const { plot } = panel;
      if (!plot || state.store.empty) return;
      event.preventDefault();
      event.stopPropagation();
      const [low, high] = state.range;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const notches = (event.deltaX || event.deltaY) / 100;
        state.pan((notches * (high - low)) / 8);
      } else {
        const left = event.clientX - plot.over.getBoundingClientRect().left;
        state.zoom(plot.posToVal(left, "x"), NOTCH ** (event.deltaY / 100));
      }
      listener.onWindow();
    },
    { passive: false },
  );
}

function startPan(panel: Panel, state: ViewState, listener: PanelListener, start: PointerEvent): void {
  const { plot, surface } = panel;
  if (!plot || !state.window) return;
  start.preventDefault();
  let from = start.clientX;
  const move = (event: PointerEvent) => {
    const [low, high] = state.range;
    state.pan(((from - event.clientX) / plot.over.clientWidth) * (high - low));
    from = event.clientX;
    listener.onWindow();
  };
  const end = () => {
    surface.removeEventListener("pointermove", move);
    surface.classList.remove("wb-panning");
  };
  surface.setPointerCapture(start.pointerId);
  surface.classList.add("wb-panning");
  surface.addEventListener("pointermove", move);
  surface.addEventListener("pointerup", end, { once: true });
  surface.addEventListener("pointercancel", end, { once: true });
}
