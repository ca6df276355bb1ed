// A labelled field in which one of several names is chosen, or anything else is typed: an editable
// combobox after the ARIA Authoring Practices.

import type { RenderProps } from "@anywidget/types";
import "./choice_field.css";
import { element, freshId } from "../element";
import { widget } from "../widget";

interface Option {
  value: string;
  /** A line on what it is; may be empty. */
  detail: string;
  /** The heading it stands under; may be empty. */
  group: string;
}

interface Traits {
  label: string;
  /** Description of the list of options, for screen readers. */
  list_label: string;
  placeholder: string;
  /** A line under the field; may be empty. */
  description: string;
  /** Why the value is refused; empty where it is not. */
  problem: string;
  options: Option[];
  value: string;
  disabled: boolean;
}

function startsWith(value: string, text: string): boolean {
  return value.toLowerCase().startsWith(text.toLowerCase());
}

/** Of a part of a name that is not its beginning, the fewest letters that mean it. */
const LEAST_PART = 3;

/** Whether Enter means `value`, the only one that holds `text`: a few letters from its middle are not enough, and the name of
 * a variable is no file that begins with it. */
function isMeant(value: string, text: string): boolean {
  const isFile = !value.endsWith("/") && /\/|\.[a-z]\w*$/i.test(value);
  if (isFile && /^[a-z_]\w*$/i.test(text)) return false;
  if (startsWith(value, text)) return true;
  const lower = value.toLowerCase();
  const found = (at: number): boolean => {
    if (at < 0) return false;
    return !/[a-z0-9]/.test(lower[at - 1] ?? "") || found(lower.indexOf(text.toLowerCase(), at + 1));
  };
  return text.length >= LEAST_PART && found(lower.indexOf(text.toLowerCase()));
}

/** What all of `values` begin with, in whatever letters. */
function commonBeginning([first = "", ...others]: string[]): string {
  let length = first.length;
  while (!others.every((each) => startsWith(each, first.slice(0, length)))) length -= 1;
  return first.slice(0, length);
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
  const about = element("span", { id: freshId("about"), class: "wb-choice-about" });
  const problem = element("p", { id: freshId("problem"), class: "wb-problem", role: "alert", hidden: "" });
  input.setAttribute("aria-describedby", `${problem.id} ${about.id}`);
  el.append(label, element("div", { class: "wb-choice-box" }, input, arrow, list), problem, about);

  let active = -1;
  let filtered = "";
  /** Whether a user wants the list: new options open it, also where none has matched so far. */
  let wanted = false;
  const shown = (): HTMLLIElement[] => [...list.querySelectorAll<HTMLLIElement>("[role=option]")];
  const valueOf = (item: HTMLLIElement) => item.dataset["value"] ?? "";

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
    wanted = false;
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

  /** Those that hold what is typed, in the order of the groups; all of them for no text. */
  const matching = (filter: string) => {
    const wanted = filter.trim().toLowerCase();
    return model.get("options").filter(({ value }) => value.toLowerCase().includes(wanted));
  };

  /** Lists what matches, with `marked` as what Enter means; while typing, Enter means the text. */
  const open = (filter: string, marked: string | null) => {
    filtered = filter;
    wanted = true;
    const options = matching(filter);
    const items: HTMLLIElement[] = [];
    options.forEach(({ value, detail, group }, index) => {
      if (group && group !== options[index - 1]?.group) {
        items.push(element("li", { role: "presentation", class: "wb-choice-group" }, group));
      }
      const about = element("span", { id: freshId("detail"), class: "wb-option-detail" }, detail);
      const item = element(
        "li",
        { id: freshId("option"), role: "option", "aria-selected": "false", "aria-label": value },
        element("span", { class: "wb-option-value" }, value),
        about,
      );
      if (detail) item.setAttribute("aria-description", detail);
      item.dataset["value"] = value;
      // On pointerdown the field would lose its focus, and with it commit what was typed.
      item.addEventListener("pointerdown", (event) => event.preventDefault());
      item.addEventListener("click", () => pick(value));
      items.push(item);
    });
    list.replaceChildren(...items);
    list.hidden = options.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    activate(options.findIndex(({ value }) => value === marked));
  };

  /** Takes an option, also a refused one once more; a folder is opened instead. */
  const pick = (value: string) => {
    if (!value.endsWith("/")) {
      // What was refused may be right by now, as a file that has been written since.
      const again = value === model.get("value") && model.get("problem") !== "";
      commit(value);
      if (again) model.send({ kind: "again" });
      return;
    }
    write(value);
  };

  /** Puts a text into the field as if it had been typed. */
  const write = (text: string) => {
    input.value = text;
    showProblem();
    look();
    open(text, null);
  };

  /** The choice of Enter and Tab: the marked option, the only match if that is meant, or the typed text. */
  const meant = () => {
    const item = list.hidden ? undefined : shown()[active];
    if (item) return valueOf(item);
    const typed = input.value.trim();
    const [only, ...others] = typed ? matching(typed) : [];
    const taken = only && others.length === 0 && only.value !== typed && isMeant(only.value, typed);
    return taken ? only.value : input.value;
  };

  /** Does what Tab means where something is typed; returns whether the focus stays, if it may. */
  const complete = (mayStay: boolean) => {
    const value = meant();
    const typed = input.value.trim();
    const options = list.hidden || value !== input.value ? [] : matching(typed);
    const isPart = options.length > 1 && options.every((option) => option.value !== typed);
    const begun = options.map((option) => option.value).filter((each) => startsWith(each, typed));
    const further = isPart ? commonBeginning(begun) : value;
    const isFolder = value !== input.value && value.endsWith("/");
    if (mayStay && (isFolder || (isPart && further.length > typed.length))) {
      write(further);
      return true;
    }
    // A part of several names is none of them: it would take the place of what is loaded, if anything is.
    commit(isPart && model.get("problem") === "" ? model.get("value") : value);
    return false;
  };

  /** Asks the kernel what there is now, which it answers by new options. */
  const look = () => model.send({ kind: "look", text: input.value });

  const move = (by: number) => {
    const { length } = shown();
    activate(active === -1 && by < 0 ? length - 1 : (active + by + length) % length);
  };

  input.addEventListener("input", () => {
    showProblem();
    look();
    open(input.value, null);
  });
  input.addEventListener("click", () => {
    if (!list.hidden) return close();
    look();
    open("", model.get("value"));
  });
  input.addEventListener("blur", () => commit(input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Tab") {
      // The focus moves on, and the field takes what Enter would have taken, unless there is more to complete.
      if (input.value === model.get("value") || !input.value.trim()) return close();
      if (!complete(!event.shiftKey)) return;
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (list.hidden) {
        look();
        open("", model.get("value"));
      } else move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") pick(meant());
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  /** Why the value is refused, until another text is typed. */
  const showProblem = () => {
    const refused = model.get("problem");
    if (problem.textContent !== refused) problem.textContent = refused;
    problem.hidden = refused === "" || input.value !== model.get("value");
    input.setAttribute("aria-invalid", String(!problem.hidden)); // what is typed now was not refused
  };

  const update = () => {
    label.textContent = model.get("label");
    list.setAttribute("aria-label", model.get("list_label"));
    input.placeholder = model.get("placeholder");
    input.disabled = model.get("disabled");
    about.textContent = model.get("description");
    showProblem();
  };
  const showValue = () => {
    input.value = model.get("value");
    showProblem();
  };
  model.on("change", update);
  // Other changes, such as of the options, leave what is being typed as it is.
  model.on("change:value", showValue);
  model.on("change:options", () => {
    if (document.activeElement !== input || !wanted) return;
    const item = shown()[active];
    open(filtered, item ? valueOf(item) : null);
  });
  signal.addEventListener("abort", close);
  showValue();
  update();
}

export default widget({ render });
