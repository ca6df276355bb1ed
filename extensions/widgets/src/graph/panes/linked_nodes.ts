// Corresponding nodes of two graphs, by the recorded origins.

import type { Pane } from "./pane";

/** Nodes of `to` that correspond to the node selected in `from`. */
export function linkedNodes(from: Pane, to: Pane): number[] {
  const item = from.selected;
  if (item === null || item < 0) return [];
  if (to.data.key === "forward") return [...from.data.origins(item)];
  if (from.data.key !== "forward") return [];
  const found: number[] = [];
  for (let node = 0; node < to.data.nodeCount; node++) if (to.data.origins(node).includes(item)) found.push(node);
  return found;
}
