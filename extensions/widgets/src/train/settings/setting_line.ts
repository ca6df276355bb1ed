// One setting: a label, a field with its default where it is empty, what is wrong with it, and what it is.

import { element, freshId } from "../../element";
import "./setting_line.css";

export interface SettingField {
  name: string;
  label: string;
  description: string;
  /** Why what is typed has no effect, or what it asks for; empty, or missing in a task: nothing. */
  remark: string;
  /** "whole", "number", "bytes", "choice", "switch", "names" or "text". */
  kind: string;
  /** The default, used while it is empty. */
  default: string;
  choices: string[];
}

export interface Line {
  el: HTMLElement;
  read: () => string;
  write: (text: string) => void;
  /** Takes in a new default. */
  describe: (field: SettingField) => void;
  input: HTMLInputElement | HTMLSelectElement;
  problem: HTMLElement;
}

const MODES: Record<string, string> = { whole: "numeric", number: "decimal" };

/** The line of a setting, empty. */
export function lineOf(field: SettingField): Line {
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
  const remark = element("span", { id: freshId("remark"), class: "wb-setting-remark" });
  input.setAttribute("aria-describedby", `${problem.id} ${remark.id} ${detail.id}`);
  const el = element("div", { class: "wb-setting" }, label, input, problem, remark, detail);
  holdWhilePressed(input, el);

  const describe = (now: SettingField) => {
    if (input instanceof HTMLSelectElement) {
      const choices = now.kind === "switch" ? ["yes", "no"] : now.choices;
      const kept = input.value;
      // That it is the default is said below it: beside the name it would cut that off.
      const none = element("option", { value: "" }, now.default);
      const others = choices.filter((choice) => choice !== now.default || choice === kept);
      input.replaceChildren(none, ...others.map((one) => element("option", { value: one }, one)));
      input.value = kept;
    } else input.placeholder = now.default;
    // An empty field shows its default itself.
    const applies = element("span", { class: "wb-setting-default" });
    if (now.default !== "") applies.textContent = `Default: ${now.default}.`;
    const words = now.description && `${now.description[0]?.toUpperCase()}${now.description.slice(1)}.`;
    detail.replaceChildren(...[words, " ", applies].filter(Boolean));
    input.title = detail.textContent.trim();
    remark.textContent = now.remark ?? "";
  };
  describe(field);
  const write = (text: string) => {
    // The default is a separate option only if it was typed explicitly.
    if (input instanceof HTMLSelectElement && ![...input.options].some((one) => one.value === text)) {
      input.append(element("option", { value: text }, text));
    }
    input.value = text;
  };
  return { el, read: () => input.value, write, describe, input, problem };
}

/**
 * Marks the line of a field that loses the focus to a press, until the pointer is released: what is said under the field
 * must not go before, or what was pressed moves away under the pointer and is not clicked.
 */
function holdWhilePressed(input: HTMLElement, line: HTMLElement): void {
  const hold = () => {
    const released = new AbortController();
    const release = () => {
      released.abort();
      setTimeout(() => line.classList.remove("wb-held")); // the click comes first
    };
    line.classList.add("wb-held");
    for (const end of ["pointerup", "pointercancel"]) {
      window.addEventListener(end, release, { capture: true, signal: released.signal });
    }
  };
  input.addEventListener("focus", () => window.addEventListener("pointerdown", hold, true));
  input.addEventListener("blur", () => window.removeEventListener("pointerdown", hold, true));
}

/** Shows what was typed, and what is wrong with it. */
export function showLine(line: Line, text: string, problem: string): void {
  // Text that is being typed may be newer than the kernel's answer.
  if (document.activeElement !== line.input && line.read() !== text) line.write(text);
  line.problem.textContent = problem;
  line.input.setAttribute("aria-invalid", String(problem !== ""));
  line.el.classList.toggle("wb-given", text !== "");
}
