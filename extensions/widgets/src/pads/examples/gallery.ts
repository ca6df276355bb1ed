// The examples by class, as thumbnails. A chosen one can be moved to another class, removed or played.

import { element, freshId } from "../../element";
import { ask, type GalleryModel, type Item } from "../parts/pad_model";
import { picture } from "../parts/picture";
import { problemArea } from "../parts/problem_area";

export class Gallery {
  readonly root: HTMLElement;
  private readonly groups = element("div", { class: "wb-gallery-groups" });
  private readonly undo = element("button", { type: "button", class: "wb-small" }, "Undo");
  private chosen = 0;

  constructor(
    private readonly model: GalleryModel,
    /** What an example is: "drawing" or "recording". */
    private readonly noun: string,
    /** Plays an example, where it can be heard. */
    private readonly play?: (id: number) => void,
  ) {
    const heading = freshId("gallery");
    this.root = element(
      "section",
      { class: "wb-gallery", "aria-labelledby": heading },
      element(
        "div",
        { class: "wb-section-head" },
        element("h2", { id: heading }, `Your ${noun}s`),
        this.undo,
      ),
      problemArea(model, "examples"),
      this.groups,
    );
    this.undo.addEventListener("click", () => ask(model, { kind: "undo" }));
    for (const trait of ["items", "classes", "thumbnails", "can_undo"]) {
      model.on(`change:${trait}`, () => this.update());
    }
    this.update();
  }

  private update(): void {
    const { model } = this;
    const [items, classes] = [model.get("items"), model.get("classes")];
    this.undo.hidden = !model.get("can_undo");
    const focused = document.activeElement;
    const held = this.groups.contains(focused) || (this.undo.hidden && focused === this.undo);
    if (!items.some(({ id }) => id === this.chosen)) this.chosen = 0;
    const thumbnails = items.map((item, index) => this.thumbnail(item, index, items));
    const groups = classes.map((name) => {
      const shown = thumbnails.filter((_, index) => items[index]?.label === name);
      const list = shown.length
        ? element("ul", {}, ...shown.map((each) => element("li", {}, each)))
        : element("p", { class: "wb-hint" }, `No ${this.noun} yet.`);
      const chosen = items.find(({ id, label }) => id === this.chosen && label === name);
      const head = element("h3", {}, name, " ", element("small", {}, String(shown.length)));
      const group = element("div", { class: "wb-gallery-group" }, head, list);
      if (chosen) group.append(this.actions(chosen));
      return group;
    });
    this.groups.replaceChildren(...groups);
    if (!held) return;
    const next = this.groups.querySelector<HTMLElement>('[aria-pressed="true"]') ?? this.groups.querySelector("button");
    (next ?? this.undo).focus();
  }

  private thumbnail(item: Item, index: number, items: Item[]): HTMLButtonElement {
    const place = items.slice(0, index + 1).filter(({ label }) => label === item.label).length;
    const button = element(
      "button",
      {
        type: "button",
        class: "wb-thumbnail",
        "aria-label": `${this.noun} ${place} of ${item.label}`,
        "aria-pressed": String(item.id === this.chosen),
      },
      picture(this.model.get("thumbnails"), index, this.model.get("thumbnail_size")),
    );
    button.addEventListener("click", () => {
      this.chosen = this.chosen === item.id ? 0 : item.id;
      this.update();
    });
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Delete" && event.key !== "Backspace") return;
      event.preventDefault();
      event.stopPropagation();
      ask(this.model, { kind: "remove", id: item.id });
    });
    return button;
  }

  private actions(item: Item): HTMLElement {
    const move = element("select", { id: freshId("move") });
    for (const name of this.model.get("classes")) {
      move.append(element("option", { value: name }, name));
    }
    move.value = item.label;
    move.addEventListener("change", () => ask(this.model, { kind: "relabel", id: item.id, label: move.value }));
    const remove = element("button", { type: "button", class: "wb-small" }, "Remove");
    remove.addEventListener("click", () => ask(this.model, { kind: "remove", id: item.id }));
    const row = element("div", { class: "wb-row" }, element("label", { for: move.id }, "Class"), move, remove);
    if (this.play) {
      const { play } = this;
      const button = element("button", { type: "button", class: "wb-small" }, "Play");
      button.addEventListener("click", () => play(item.id));
      row.append(button);
    }
    return row;
  }
}
