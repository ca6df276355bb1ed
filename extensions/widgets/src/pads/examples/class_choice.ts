// The classes that a user names: one is chosen for what is made next; they are added, renamed and removed.

import { element, freshId } from "../../element";
import { onPress, setUsable } from "../../focus";
import { enterSubmits } from "../parts/enter_submits";
import { ask, type GalleryModel } from "../parts/pad_model";

export class ClassChoice {
  readonly root: HTMLElement;
  /** The class of what is made next; empty while there is none. */
  value = "";
  /** A name that the kernel was asked for, and may refuse: chosen once it is there. */
  private wanted = "";
  private readonly choices = element("div", { class: "wb-class-list" });
  private readonly name = element("input", { type: "text", maxlength: "40", autocomplete: "off" });
  private readonly added = element("input", { type: "text", maxlength: "40", autocomplete: "off" });
  private readonly remove = element("button", { type: "button", class: "wb-small" }, "Remove class");
  private readonly group = freshId("class");

  /** Called when another class is chosen, or the chosen one has another name. */
  onChange: () => void = () => undefined;

  constructor(private readonly model: GalleryModel) {
    const add = element("button", { type: "submit", class: "wb-small" }, "Add class");
    const rename = element("button", { type: "submit", class: "wb-small" }, "Rename");
    const renaming = form(this.name, "Name of the chosen class", rename, this.remove);
    const adding = form(this.added, "New class", add);
    const edit = element("details", { class: "wb-class-edit" }, element("summary", {}, "Edit classes"), renaming, adding);
    this.root = element(
      "fieldset",
      { class: "wb-classes" },
      element("legend", { class: "wb-field-label" }, "Class"),
      this.choices,
      edit,
    );
    renaming.addEventListener("submit", (event) => {
      event.preventDefault();
      const name = this.name.value.trim();
      if (!name || name === this.value) return;
      this.wanted = name;
      ask(model, { kind: "rename_class", label: this.value, name });
    });
    adding.addEventListener("submit", (event) => {
      event.preventDefault();
      const name = this.added.value.trim();
      if (!name) return;
      this.wanted = name;
      ask(model, { kind: "add_class", label: name });
      this.added.value = "";
    });
    onPress(this.remove, () => ask(model, { kind: "remove_class", label: this.value }));
    model.on("change:classes", () => this.update());
    model.on("change:items", () => this.update());
    this.update();
  }

  /** Chooses the class at `index`, if there is one. */
  choose(index: number): void {
    const name = this.model.get("classes")[index];
    if (name === undefined) return;
    this.value = name;
    this.update();
  }

  private update(): void {
    const classes = this.model.get("classes");
    if (classes.includes(this.wanted)) {
      this.value = this.wanted;
      this.wanted = "";
    }
    if (!classes.includes(this.value)) this.value = classes[0] ?? "";
    const focused = this.choices.contains(document.activeElement);
    const items = this.model.get("items");
    this.choices.replaceChildren(
      ...classes.map((name, index) => {
        const radio = element("input", { type: "radio", name: this.group, value: name });
        radio.checked = name === this.value;
        radio.addEventListener("change", () => this.choose(index));
        const count = items.filter(({ label }) => label === name).length;
        return element(
          "label",
          { class: "wb-class" },
          radio,
          element("span", { class: "wb-class-name" }, name),
          element("span", { class: "wb-class-count" }, String(count)),
        );
      }),
    );
    if (focused) this.choices.querySelector<HTMLInputElement>("input:checked")?.focus();
    if (document.activeElement !== this.name) this.name.value = this.value;
    setUsable(this.remove, classes.length > 1);
    this.onChange();
  }
}

function form(field: HTMLInputElement, label: string, ...buttons: HTMLButtonElement[]): HTMLFormElement {
  field.id = freshId("field");
  enterSubmits(field);
  const name = element("label", { class: "wb-field-label", for: field.id }, label);
  return element("form", {}, name, element("div", { class: "wb-row" }, field, ...buttons));
}
