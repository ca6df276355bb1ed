// The settings as a form: checked while they are typed, each with its default where it is empty.

import type { RenderProps } from "@anywidget/types";
import { element, freshId } from "../element";
import "./settings_form.css";

interface Field {
  name: string;
  label: string;
  description: string;
  /** "whole", "number", "bytes", "choice", "switch", "names" or "text". */
  kind: string;
  /** What applies while it is empty. */
  default: string;
  choices: string[];
}

interface Group {
  title: string;
  folded: boolean;
  fields: Field[];
}

interface Traits {
  groups: Group[];
  /** What was typed, by name of the setting. */
  texts: Record<string, string>;
  /** What is wrong with a setting, in a sentence, by its name. */
  problems: Record<string, string>;
}

interface Line {
  el: HTMLElement;
  read: () => string;
  write: (text: string) => void;
  /** Takes in a new default. */
  describe: (field: Field) => void;
  input: HTMLInputElement | HTMLSelectElement;
  problem: HTMLElement;
}

const MODES: Record<string, string> = { whole: "numeric", number: "decimal" };

function lineOf(field: Field): Line {
  const chosen = field.kind === "choice" || field.kind === "switch";
  const input = chosen
    ? element("select")
    : element("input", {
        type: "text",
        inputmode: MODES[field.kind] ?? "text",
        autocomplete: "off",
        spellcheck: "false",
      });
  input.id = freshId("setting");
  const label = element("label", { for: input.id }, field.label);
  const detail = element("span", { id: freshId("detail"), class: "wb-setting-detail" });
  const problem = element("span", { id: freshId("problem"), class: "wb-setting-problem" });
  input.setAttribute("aria-describedby", `${problem.id} ${detail.id}`);
  const el = element("div", { class: "wb-setting" }, label, input, problem, detail);

  const describe = (now: Field) => {
    if (input instanceof HTMLSelectElement) {
      const choices = now.kind === "switch" ? ["yes", "no"] : now.choices;
      const kept = input.value;
      // That it is the default is said below it: beside the name it would cut that off.
      const none = element("option", { value: "" }, now.default);
      const others = choices.filter((choice) => choice !== now.default || choice === kept);
      input.replaceChildren(none, ...others.map((one) => element("option", { value: one }, one)));
      input.value = kept;
    } else input.placeholder = now.default;
    const applies = now.default === "" ? "" : `Default: ${now.default}.`;
    const words = now.description && `${now.description[0]?.toUpperCase()}${now.description.slice(1)}.`;
    detail.textContent = [words, applies].filter(Boolean).join(" ");
    input.title = detail.textContent;
  };
  describe(field);
  const write = (text: string) => {
    // A default that is given in so many words is an option of its own only then.
    if (input instanceof HTMLSelectElement && ![...input.options].some((one) => one.value === text)) {
      input.append(element("option", { value: text }, text));
    }
    input.value = text;
  };
  return { el, read: () => input.value, write, describe, input, problem };
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-settings-form");
  const lines = new Map<string, Line>();
  const counts = new Map<string, { group: Group; count: HTMLElement }>();

  const rebuild = () => {
    const groups = model.get("groups");
    const names = groups.flatMap(({ fields }) => fields.map(({ name }) => name));
    if (names.join() === [...lines.keys()].join()) {
      for (const { fields } of groups) {
        for (const field of fields) lines.get(field.name)?.describe(field);
      }
      return;
    }
    lines.clear();
    counts.clear();
    el.replaceChildren(
      ...groups.map((group) => {
        const grid = element("div", { class: "wb-setting-grid" });
        for (const field of group.fields) {
          const line = lineOf(field);
          const type = () => model.send({ kind: "type", name: field.name, text: line.read() });
          line.input.addEventListener("input", type);
          lines.set(field.name, line);
          grid.append(line.el);
        }
        const count = element("span", { class: "wb-note" });
        counts.set(group.title, { group, count });
        const heading = element("h3", {}, group.title);
        if (!group.folded) {
          return element("section", { "aria-label": group.title }, heading, grid);
        }
        return element("details", {}, element("summary", {}, heading, " ", count), grid);
      }),
    );
  };

  const update = () => {
    const texts = model.get("texts");
    const problems = model.get("problems");
    for (const [name, line] of lines) {
      const text = texts[name] ?? "";
      // What is being typed may be newer than what the kernel has answered.
      if (document.activeElement !== line.input && line.read() !== text) line.write(text);
      const problem = problems[name] ?? "";
      line.problem.textContent = problem;
      line.input.setAttribute("aria-invalid", String(problem !== ""));
      line.el.classList.toggle("wb-given", text !== "");
    }
    for (const { group, count } of counts.values()) {
      const wrong = group.fields.filter(({ name }) => name in problems).length;
      const given = group.fields.filter(({ name }) => name in texts).length;
      count.textContent = wrong ? `${wrong} wrong` : given ? `${given} given` : "";
      count.classList.toggle("wb-wrong", wrong > 0);
    }
  };

  model.on("change:groups", () => {
    rebuild();
    update();
  });
  model.on("change:texts", update);
  model.on("change:problems", update);
  rebuild();
  update();
}

export default { render };
