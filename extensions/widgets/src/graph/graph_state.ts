// Status of a view of graphs: reading, failed, or without a kernel.

import { GONE } from "../app/kernel";
import { element } from "../element";

export class GraphState {
  readonly root = element("div", { class: "wb-graph-state", role: "status" });
  gone = false;

  show(status: string, message: string): void {
    if (this.gone) return;
    this.root.dataset["status"] = status;
    this.root.textContent = status === "loading" ? `${message}…` : message;
    this.root.hidden = status === "ready";
  }

  /** The kernel is gone; within a page that says so itself, the page says it. */
  lose(): void {
    this.gone = true;
    this.root.dataset["status"] = "failed";
    this.root.textContent = GONE;
    this.root.hidden = this.root.closest(".wb-page") !== null;
  }
}
