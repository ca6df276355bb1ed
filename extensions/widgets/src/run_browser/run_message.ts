// What is said above the list of runs, of the last action, and in place of the list.

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

/** Stands in place of the list where it shows no run. */
export class RunHint {
  readonly root = element("div", { class: "wb-run-empty", tabindex: "-1" });

  /** `state`: why no run is shown; null: some are. `folder`: where the runs lie. */
  show(state: "loading" | "none" | "none match" | null, folder: string): void {
    this.root.hidden = state === null;
    if (state === null) this.root.replaceChildren();
    else if (state === "loading") this.say("Reading the runs …");
    else if (state === "none match") this.say("No run matches the search and the filters. Press “Show all”.");
    else {
      this.root.replaceChildren(
        element("p", {}, element("strong", {}, "No runs yet.")),
        element("p", {}, "Train a model, and its run is listed here: ", element("code", {}, 'wb.train("digits-mlp")'), "."),
        element("p", { class: "wb-note" }, `Runs are looked for in ${folder}.`),
      );
    }
  }

  private say(text: string): void {
    this.root.replaceChildren(element("p", {}, text));
  }
}
