// What stands in place of the list of runs where it shows none.

import { element } from "../element";

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
