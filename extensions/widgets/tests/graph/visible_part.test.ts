import { expect, it } from "vitest";
import { visiblePart } from "../../src/graph/panes/visible_part";

/** A view with a surface of 400 pixels from 100 on, and its details. */
function view(details: { top: number; left?: number } | null): HTMLElement {
  const root = document.createElement("div");
  root.className = "wb-graph";
  root.innerHTML = '<div class="surface"></div><div class="wb-graph-side"></div>';
  const [surface, side] = [...root.children] as [HTMLElement, HTMLElement];
  surface.getBoundingClientRect = () => new DOMRect(0, 100, 600, 400);
  if (details) side.classList.add("wb-selection");
  side.getBoundingClientRect = () => new DOMRect(details?.left ?? 0, details?.top ?? 0, 600, 200);
  return surface;
}

it("ends where the details lie over a graph, or the window does", () => {
  window.innerHeight = 1000;
  const of = (surface: HTMLElement) => visiblePart(surface, { width: 600, height: 400 }).height;
  expect(of(view(null))).toBe(400);
  expect(of(view({ top: 400 }))).toBe(300);
  expect(of(view({ top: 400, left: 600 })), "beside it").toBe(400);
  expect(of(view({ top: 150 })), "nearly all is covered").toBe(400);
  window.innerHeight = 300;
  expect(of(view(null))).toBe(200);
});
