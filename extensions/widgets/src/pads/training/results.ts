// How well held-out examples are recognised, before and after the training, side by side.

import { element, freshId } from "../../element";
import { percent } from "../parts/bars";
import type { GalleryModel, HeldOut, Score } from "../parts/pad_model";
import { picture } from "../parts/picture";

export class Results {
  readonly root: HTMLElement;
  private readonly heading = freshId("results");

  constructor(
    private readonly model: GalleryModel,
    /** What an example is: "drawing" or "recording". */
    private readonly noun: string,
  ) {
    this.root = element("section", { class: "wb-results-area", "aria-labelledby": this.heading });
    for (const trait of ["results", "result_note", "held_out"]) {
      model.on(`change:${trait}`, () => this.update());
    }
    this.update();
  }

  private update(): void {
    const scores = this.model.get("results");
    this.root.hidden = scores.length === 0;
    const classes = this.model.get("result_classes");
    this.root.replaceChildren(
      element("h2", { id: this.heading }, `Evaluation on held-out ${this.noun}s`),
      element("p", { class: "wb-hint" }, this.model.get("result_note")),
      element("div", { class: "wb-scores" }, ...scores.map((score) => this.score(score, classes))),
      this.examples(this.model.get("held_out")),
    );
  }

  private score(score: Score, classes: string[]): HTMLElement {
    const accuracy = score.total ? percent(score.right / score.total) : "–";
    return element(
      "figure",
      { class: "wb-score" },
      element(
        "figcaption",
        {},
        element("h3", {}, score.title),
        element("span", { class: "wb-accuracy" }, accuracy),
        element("small", {}, `${score.right} of ${score.total} recognised`),
      ),
      confusionTable(score, classes, this.noun),
    );
  }

  private examples(all: HeldOut[]): HTMLElement {
    const size = this.model.get("thumbnail_size");
    const pictures = this.model.get("held_out_thumbnails");
    const items = all.map((each, index) => {
      const words = (taken: string) => (taken === each.label ? "✓" : "✗") + ` ${taken}`;
      return element(
        "li",
        {},
        element("span", { class: "wb-thumbnail" }, picture(pictures, index, size)),
        element(
          "span",
          {},
          element("strong", {}, each.label),
          element("br"),
          `before ${words(each.before)}`,
          element("br"),
          `after ${words(each.after)}`,
        ),
      );
    });
    return element("ul", { class: "wb-held-out", "aria-label": `Held-out ${this.noun}s` }, ...items);
  }
}

/** Rows: the true class; columns: what was recognised. Cells get darker with their share of the row. */
function confusionTable({ title, columns, confusion }: Score, classes: string[], noun: string): HTMLElement {
  const head = columns.map((name) => element("th", { scope: "col" }, name));
  const rows = confusion.map((counts, row) => {
    const sum = counts.reduce((total, count) => total + count, 0);
    const cells = counts.map((count, column) => {
      const cell = element("td", { class: classes[row] === columns[column] ? "wb-right" : "wb-wrong" }, String(count));
      cell.style.setProperty("--wb-share", String(sum ? Math.round((60 * count) / sum) : 0));
      return cell;
    });
    return element("tr", {}, element("th", { scope: "row" }, classes[row] ?? ""), ...cells);
  });
  return element(
    "div",
    { class: "wb-confusion-box" },
    element(
      "table",
      { class: "wb-confusion" },
      element("caption", {}, `Confusion matrix ${title.toLowerCase()}: ${noun}s by class (rows) and predicted class (columns)`),
      element("thead", {}, element("tr", {}, element("td"), ...head)),
      element("tbody", {}, ...rows),
    ),
  );
}
