// The options of ORTModule in a section that unfolds: a field each, with a line on what it does.

import type { RenderProps } from "@anywidget/types";
import { element, freshId } from "../../element";
import { onPress, setUsable } from "../../focus";
import "./ortmodule_form.css";
import { widget } from "../../widget";

type Value = boolean | number | string | null;

interface Field {
  name: string;
  label: string;
  description: string;
  kind: "switch" | "choice" | "number" | "text";
  /** Of a choice. */
  choices: Value[];
  default: Value;
}

interface Group {
  title: string;
  fields: Field[];
}

interface Traits {
  groups: Group[];
  /** Options that differ from the defaults, by name. */
  value: Record<string, Value>;
  /** Why an option is refused, by its name. */
  problems: Record<string, string>;
}

/** A control, how to read it and how to write it. */
interface Control {
  input: HTMLInputElement | HTMLSelectElement;
  read: () => Value;
  write: (value: Value) => void;
}

function controlOf(field: Field): Control {
  if (field.kind === "switch") {
    const input = element("input", { type: "checkbox" });
    return { input, read: () => input.checked, write: (value) => (input.checked = Boolean(value)) };
  }
  if (field.kind === "choice") {
    const options = field.choices.map((choice) => element("option", {}, String(choice)));
    const input = element("select", {}, ...options);
    return {
      input,
      read: () => field.choices[input.selectedIndex] ?? null,
      write: (value) => (input.selectedIndex = field.choices.indexOf(value)),
    };
  }
  const number = field.kind === "number";
  const input = element("input", number ? { type: "number", min: "1", step: "1" } : { type: "text" });
  return {
    input,
    read: () => (number ? (input.value === "" ? null : Number(input.value)) : input.value.trim()),
    write: (value) => (input.value = value === null ? "" : String(value)),
  };
}

function lineOf(field: Field, control: Control): HTMLElement {
  const { input } = control;
  input.id = freshId("option");
  const detail = element(
    "span",
    { id: freshId("detail"), class: "wb-option-detail" },
    field.description,
  );
  const problem = element("span", { id: freshId("problem"), class: "wb-problem", role: "alert", hidden: "" });
  input.setAttribute("aria-describedby", `${problem.id} ${detail.id}`);
  const label = element("label", { for: input.id }, field.label);
  const line = element("div", { class: `wb-option wb-${field.kind}` });
  line.append(...(field.kind === "switch" ? [input, label, problem, detail] : [label, input, problem, detail]));
  return line;
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-ortmodule-form");
  const count = element("span", { class: "wb-note" });
  const reset = element("button", { type: "button", class: "wb-toggle" }, "Defaults");
  const fields = element("div", { class: "wb-option-groups" });
  const heading = element("h2", {}, "ORTModule options");
  el.append(
    element(
      "details",
      {},
      element("summary", {}, heading, " ", count),
      fields,
      element("div", { class: "wb-option-foot" }, reset),
    ),
  );
  const controls: { field: Field; control: Control; line: HTMLElement }[] = [];

  const read = () => {
    const changed = controls.flatMap(({ field, control }) => {
      const value = control.read();
      return value === field.default ? [] : [[field.name, value] as const];
    });
    model.set("value", Object.fromEntries(changed));
    model.save_changes();
  };

  const update = () => {
    const value = model.get("value");
    const problems = model.get("problems");
    for (const { field, control, line } of controls) {
      const now = field.name in value ? value[field.name] : field.default;
      if (control.read() !== now) control.write(now ?? null);
      line.classList.toggle("wb-changed", field.name in value);
      const why = problems[field.name] ?? "";
      const problem = line.querySelector<HTMLElement>(".wb-problem")!;
      if (problem.textContent !== why) problem.textContent = why;
      problem.hidden = why === "";
      control.input.setAttribute("aria-invalid", String(why !== ""));
    }
    const changed = Object.keys(value).length;
    const wrong = Object.keys(problems).length;
    count.textContent = wrong ? `${wrong} wrong` : changed ? `${changed} changed` : "";
    count.classList.toggle("wb-wrong", wrong > 0);
    setUsable(reset, changed > 0);
  };

  const rebuild = () => {
    controls.length = 0;
    fields.replaceChildren(
      ...model.get("groups").map((group) => {
        const title = element("h3", { id: freshId("group") }, group.title);
        const lines = group.fields.map((field) => {
          const control = controlOf(field);
          control.input.addEventListener("change", read);
          if (field.kind === "text" || field.kind === "number") control.input.addEventListener("input", read);
          const line = lineOf(field, control);
          controls.push({ field, control, line });
          return line;
        });
        return element("div", { role: "group", "aria-labelledby": title.id }, title, ...lines);
      }),
    );
    update();
  };

  onPress(reset, () => {
    model.set("value", {});
    model.save_changes();
  });
  model.on("change:value", update);
  model.on("change:problems", update);
  model.on("change:groups", rebuild);
  rebuild();
}

export default widget({ render });
