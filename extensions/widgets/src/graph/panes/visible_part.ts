// What of a graph's surface can be seen: the details of a selected node lie over its end in a narrow page.

import type { Size } from "../layout/layout";

/** Share of a surface in view below which all of it counts: it is about to be scrolled to. */
const LEAST_SEEN = 0.3;

/** The part of a surface of this size, from its top, that neither the end of the window nor the details cover. */
export function visiblePart(surface: HTMLElement, { width, height }: Size): Size {
  const area = surface.getBoundingClientRect();
  const details = surface.closest(".wb-graph")?.querySelector(".wb-graph-side.wb-selection")?.getBoundingClientRect();
  const beside = !details || details.left >= area.right || details.top <= area.top;
  const end = Math.min(area.bottom, window.innerHeight, beside ? Infinity : details.top);
  const shown = area.height ? (end - area.top) / area.height : 1;
  return { width, height: shown > LEAST_SEEN ? height * Math.min(1, shown) : height };
}
