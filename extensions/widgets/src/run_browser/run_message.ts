// How the last action on runs came out, with what can be done about it.

import { element } from "../element";

export interface MessageListener {
  /** Bring back the runs that were deleted. */
  onUndo: () => void;
  /** End the export that is in progress. */
  onCancel: () => void;
}

export class RunMessage {
  readonly root = element("div", { class: "wb-run-message" });
  readonly undo = element("button", { type: "button", class: "wb-button wb-small" }, "Undo");
  private readonly text = element("span", { role: "status" });
  private readonly cancel = element("button", { type: "button", class: "wb-button wb-small" }, "Cancel export");

  constructor(listener: MessageListener) {
    this.undo.addEventListener("click", () => listener.onUndo());
    this.cancel.addEventListener("click", () => listener.onCancel());
    this.root.append(this.text, this.undo, this.cancel);
  }

  show(outcome: string, text: string, canUndo: boolean, cancellable: boolean): void {
    if (this.text.textContent !== text) this.text.textContent = text;
    this.root.dataset["outcome"] = outcome;
    this.root.classList.toggle("wb-notice", text !== "");
    this.undo.hidden = !canUndo;
    this.cancel.hidden = !cancellable;
  }
}
