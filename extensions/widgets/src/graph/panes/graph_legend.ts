// Legend of the colours and letters that occur in the graphs.

import { element } from "../../element";
import type { GraphData, MadeBy } from "../data/graph_data";
import type { Heat } from "../drawing/heat";
import { MARKS } from "../drawing/marks";

/** The entries for graphs as they are painted: by heat, or by where their nodes are from. */
export function legendEntries(heat: Heat | null, graphs: readonly GraphData[]): HTMLElement[] {
  if (heat) {
    const scale = element("span", { class: "wb-heat-scale", "aria-hidden": "true" });
    const text = heat.by === "time" ? "time of a node in one step" : "memory of a node's results";
    const unknown = heat.incomplete ? "; no colour: not known" : "";
    return [element("li", {}, "0 ", scale, ` ${heat.format(heat.darkest)}: ${text}${unknown}`)];
  }
  const there = new Set<MadeBy>();
  for (const data of graphs) {
    for (let node = 0; node < data.nodeCount; node++) {
      if (data.kind(node) === "operator") there.add(data.madeBy(node));
    }
  }
  const kinds = (Object.keys(MARKS) as MadeBy[]).filter((kind) => there.has(kind));
  if (kinds.length < 2) return [];
  return kinds.map((kind) =>
    element(
      "li",
      {},
      element("span", { class: "wb-mark-sample", "data-made": kind, "aria-hidden": "true" }, MARKS[kind].letter),
      MARKS[kind].label,
    ),
  );
}
