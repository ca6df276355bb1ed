// The settings as a form: checked while they are typed, each with its default where it is empty.

import type { RenderProps } from "@anywidget/types";
import { element } from "../../element";
import { widget } from "../../widget";
import { type Line, lineOf, type SettingField, showLine } from "./setting_line";
import "./settings_form.css";

interface Group {
  title: string;
  folded: boolean;
  fields: SettingField[];
}

interface Traits {
  groups: Group[];
  /** Typed texts by name of the setting. */
  texts: Record<string, string>;
  /** Problems of settings, a sentence each, by name. */
  problems: Record<string, string>;
  /** A sentence below the fields; empty: none. */
  note: string;
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-settings-form");
  const lines = new Map<string, Line>();
  const counts = new Map<string, { group: Group; count: HTMLElement }>();
  let texts: Record<string, string> = {};

  const rebuild = () => {
    const groups = model.get("groups");
    const names = groups.flatMap(({ fields }) => fields.map(({ name }) => name));
    if (names.join() === [...lines.keys()].join()) {
      for (const { fields } of groups) {
        for (const field of fields) lines.get(field.name)?.describe(field);
      }
      return;
    }
    const unfolded = [...el.querySelectorAll("details[open] h3")].map((heading) => heading.textContent);
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
        const details = element("details", {}, element("summary", {}, heading, " ", count), grid);
        details.open = unfolded.includes(group.title);
        return details;
      }),
    );
  };

  /** What was filled in elsewhere, as by a run that is trained further, is seen. */
  const unfold = () => {
    const before = texts;
    texts = model.get("texts");
    for (const [name, text] of Object.entries(texts)) {
      const details = lines.get(name)?.el.closest("details");
      if (details && text !== before[name]) details.open = true;
    }
  };

  const update = () => {
    unfold();
    const problems = model.get("problems");
    for (const [name, line] of lines) {
      showLine(line, texts[name] ?? "", problems[name] ?? "");
    }
    for (const { group, count } of counts.values()) {
      const wrong = group.fields.filter(({ name }) => name in problems).length;
      const given = group.fields.filter(({ name }) => name in texts).length;
      count.textContent = wrong ? `${wrong} wrong` : given ? `${given} given` : "";
      count.classList.toggle("wb-wrong", wrong > 0);
    }
  };

  const note = element("p", { class: "wb-note" });
  const showNote = () => {
    note.textContent = model.get("note");
    note.hidden = !note.textContent;
    el.append(note); // below the fields, which were made again
  };

  model.on("change:note", showNote);
  model.on("change:groups", () => {
    rebuild();
    showNote();
    update();
  });
  model.on("change:texts", update);
  model.on("change:problems", update);
  rebuild();
  showNote();
  update();
}

export default widget({ render });
