// A labelled field in which one of several names is chosen, or anything else is typed: an editable
// combobox after the ARIA Authoring Practices.

import type { RenderProps } from "@anywidget/types";
import "./choice_field.css";
import { element, freshId } from "./element";

interface Option {
  value: string;
  /** A line on what it is; may be empty. */
  detail: string;
}

interface Traits {
  label: string;
  /** What the list of options holds, for those who cannot see it open. */
  list_label: string;
  placeholder: string;
  options: Option[];
  value: string;
  disabled: boolean;
}

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-choice-field");
  const ids = { input: freshId("input"), list: freshId("list") };
  const input = element("input", {
    id: ids.input,
    type: "text",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    "aria-autocomplete": "list",
    "aria-controls": ids.list,
    "aria-expanded": "false",
  });
  const list = element("ul", { id: ids.list, role: "listbox", hidden: "" });
  const arrow = element("span", { class: "wb-choice-arrow", "aria-hidden": "true" });
  const label = element("label", { for: ids.input });
  el.append(label, element("div", { class: "wb-choice-box" }, input, arrow, list));

  let active = -1;
  const shown = (): HTMLLIElement[] => [...list.querySelectorAll("li")];

  /** Marks the option at `index`; -1: none. */
  const activate = (index: number) => {
    const items = shown();
    active = index;
    items.forEach((item, position) => {
      item.setAttribute("aria-selected", String(position === active));
    });
    const item = items[active];
    if (item) {
      input.setAttribute("aria-activedescendant", item.id);
      item.scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  };

  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    active = -1;
  };

  const commit = (value: string) => {
    close();
    input.value = value;
    if (value === model.get("value")) return;
    model.set("value", value);
    model.save_changes();
  };

  const open = (filter: string) => {
    const options = model.get("options").filter(({ value }) => value.includes(filter.trim()));
    const items = options.map(({ value, detail }) => {
      const item = element(
        "li",
        { id: freshId("option"), role: "option", "aria-selected": "false", "aria-label": value },
        element("span", { class: "wb-option-value" }, value),
        element("span", { class: "wb-option-detail" }, detail),
      );
      // On pointerdown the field would lose its focus, and with it commit what was typed.
      item.addEventListener("pointerdown", (event) => event.preventDefault());
      item.addEventListener("click", () => commit(value));
      return item;
    });
    list.replaceChildren(...items);
    list.hidden = items.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    activate(options.findIndex(({ value }) => value === model.get("value")));
  };

  const move = (by: number) => {
    const { length } = shown();
    activate(active === -1 && by < 0 ? length - 1 : (active + by + length) % length);
  };

  input.addEventListener("input", () => open(input.value));
  input.addEventListener("click", () => (list.hidden ? open("") : close()));
  input.addEventListener("blur", () => commit(input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (list.hidden) open("");
      else move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      const item = shown()[active];
      commit(!list.hidden && item ? (item.getAttribute("aria-label") ?? "") : input.value);
    } else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  const update = () => {
    label.textContent = model.get("label");
    list.setAttribute("aria-label", model.get("list_label"));
    input.placeholder = model.get("placeholder");
    input.disabled = model.get("disabled");
    if (document.activeElement !== input || list.hidden) input.value = model.get("value");
  };
  model.on("change", update);
  signal.addEventListener("abort", close);
  update();
}

export default { render };
