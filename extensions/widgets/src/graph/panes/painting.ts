// The colours of the nodes by a profile, and the legend that explains all colours.

import { element } from "../../element";
import { legendEntries } from "./graph_legend";
import { Heat, type Painted, type PaintBy } from "../drawing/heat";
import type { Pane } from "./pane";

export class Painting {
  readonly legend = element("ul", { class: "wb-graph-legend", "aria-label": "Legend" });
  readonly note = element("p", { class: "wb-note" });
  private readonly profiles = new Map<string, Painted>();

  /** Whether there is a profile to paint by. */
  get known(): boolean {
    return this.profiles.size > 0;
  }

  add(key: string, painted: Painted): void {
    this.profiles.set(key, painted);
  }

  forget(): void {
    this.profiles.clear();
  }

  /** Paints the nodes by "time" or "memory"; empty: by their origin. */
  apply(panes: ReadonlyMap<string, Pane>, by: string, note: string): void {
    for (const [key, pane] of panes) {
      const painted = this.profiles.get(key);
      pane.heat = by && painted ? new Heat(pane.data, painted, by as PaintBy) : null;
      pane.redraw();
    }
    this.note.textContent = by ? note : "";
  }

  fillLegend(panes: ReadonlyMap<string, Pane>, shown: readonly string[]): void {
    const together = shown.flatMap((key) => panes.get(key) ?? []);
    const heats = together.flatMap((pane) => pane.heat ?? []);
    const darkest = Math.max(0, ...heats.map(({ hottest }) => hottest));
    for (const pane of together) {
      if (!pane.heat || pane.heat.darkest === darkest) continue;
      pane.heat.darkest = darkest;
      pane.redraw();
    }
    this.legend.replaceChildren(...legendEntries(heats[0] ?? null, together.map(({ data }) => data)));
  }
}
