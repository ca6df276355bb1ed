// Counts the runs that came above what is in view, and leads to them.

import { element } from "../element";

export class NewRuns {
  readonly root = element("button", { type: "button", class: "wb-toggle wb-run-newer", hidden: "" });
  private readonly unseen = new Set<string>();
  /** Ids of all runs so far: one that is brought back is not new. */
  private readonly known = new Set<string>();

  constructor(onPress: () => void) {
    this.root.addEventListener("click", onPress);
  }

  /** Takes in the ids of rows that came; `listed` are those of a list that is only now shown. */
  take(ids: readonly string[], listed: boolean): void {
    for (const id of ids) {
      if (!listed && !this.known.has(id)) this.unseen.add(id);
      this.known.add(id);
    }
  }

  /** Shows how many there are, given how many of some ids lie above what is in view. */
  show(countAbove: (ids: Set<string>) => number): void {
    const above = countAbove(this.unseen);
    this.root.hidden = above === 0;
    this.root.textContent = `↑ ${above} new ${above === 1 ? "run" : "runs"}`;
    if (above === 0) this.unseen.clear();
  }
}
