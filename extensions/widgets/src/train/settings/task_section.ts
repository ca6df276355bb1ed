// A task of a step, in a section that unfolds: its fields, its button and its result.

import type { RenderProps } from "@anywidget/types";
import { element, freshId } from "../../element";
import { followOverflow } from "../../scroll_region";
import { widget } from "../../widget";
import { type Line, lineOf, type SettingField, showLine } from "./setting_line";
import "./task_section.css";

interface Table {
  caption: string;
  columns: string[];
  rows: string[][];
}

interface Traits {
  title: string;
  explanation: string;
  /** On the button; empty: there is none. */
  action: string;
  fields: SettingField[];
  /** Typed texts by name of the field. */
  texts: Record<string, string>;
  /** Problems of fields, a sentence each, by name. */
  problems: Record<string, string>;
  /** Whether it is unfolded. */
  opened: boolean;
  /** Whether it is shown at all. */
  applies: boolean;
  /** Why the button does nothing now; empty: it does. */
  refusal: string;
  /** Description before the task has run. */
  about: string;
  /** The current activity; empty if there is none. */
  doing: string;
  /** Why it failed, in sentences. */
  problem: string;
  /** The result, in sentences; empty: none yet. */
  sentences: string;
  /** Whether the result is favourable. */
  good: boolean;
  /** Text of a button that applies what the result suggests; empty: there is none. */
  offer: string;
  /** Whether settings have changed since. */
  outdated: boolean;
  tables: Table[];
}

function tableOf({ caption, columns, rows }: Table): HTMLTableElement {
  const heads = columns.map((name) => element("th", { scope: "col" }, name));
  const body = rows.map(([first = "", ...others]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, first),
      ...others.map((cell) => element("td", {}, cell)),
    ),
  );
  return element(
    "table",
    { class: "wb-table" },
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, ...body),
  );
}

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-task");
  const note = element("span", { class: "wb-note" });
  const explanation = element("p", { class: "wb-hint" }, model.get("explanation"));
  const about = element("p", { class: "wb-hint" });
  const grid = element("div", { class: "wb-setting-grid" });
  const refusal = element("p", { class: "wb-note", id: freshId("refusal") });
  const start = element("button", { type: "button", class: "wb-button wb-small" }, model.get("action"));
  start.setAttribute("aria-describedby", refusal.id);
  const cancel = element("button", { type: "button", class: "wb-button wb-small" }, "Cancel");
  // Not a live region: its steps change many times a second. Its end is announced.
  const doing = element("p", { class: "wb-doing" });
  const problem = element("p", { class: "wb-problem", role: "alert" });
  const outcome = element("p", { class: "wb-notice", role: "status" });
  const apply = element("button", { type: "button", class: "wb-button wb-small" });
  apply.addEventListener("click", () => model.send({ kind: "apply" }));
  const tables = element("div", { class: "wb-scroll wb-task-tables" });
  followOverflow(tables, model.get("title"), signal);
  const summary = element("summary", {}, element("h3", {}, model.get("title")), " ", note);
  const details = element(
    "details",
    {},
    summary,
    explanation,
    about,
    grid,
    element("div", { class: "wb-task-buttons" }, start, cancel),
    refusal,
    doing,
    problem,
    outcome,
    apply,
    tables,
  );
  details.open = model.get("opened");
  el.append(details);

  const lines = new Map<string, Line>();
  for (const field of model.get("fields")) {
    const line = lineOf(field);
    line.input.addEventListener("input", () =>
      model.send({ kind: "type", name: field.name, text: line.read() }),
    );
    lines.set(field.name, line);
    grid.append(line.el);
  }

  let shown = "";
  const update = () => {
    el.hidden = !model.get("applies");
    const busy = model.get("doing") !== "";
    const failed = model.get("problem") !== "";
    for (const [name, line] of lines) {
      showLine(line, model.get("texts")[name] ?? "", model.get("problems")[name] ?? "");
    }
    about.textContent = model.get("about");
    // The new result has the same text.
    about.hidden = about.textContent === "" || (model.get("sentences") !== "" && !model.get("outdated"));
    refusal.textContent = busy ? "" : model.get("refusal");
    refusal.hidden = refusal.textContent === "";
    // Without a button a refusal says that the section has nothing to offer.
    grid.hidden = lines.size === 0 || (model.get("action") === "" && !refusal.hidden);
    start.hidden = model.get("action") === "";
    // Not `disabled`, which would take the focus away.
    start.setAttribute("aria-disabled", String(busy || model.get("refusal") !== ""));
    if (!busy && document.activeElement === cancel) start.focus();
    cancel.hidden = !busy;
    doing.textContent = busy ? `${model.get("doing")} …` : "";
    doing.hidden = !busy;
    problem.textContent = model.get("problem");
    problem.hidden = !failed;
    const sentences = model.get("sentences");
    const since = model.get("outdated") ? "\nSettings have changed since." : "";
    if (outcome.textContent !== sentences + since) outcome.textContent = sentences + since;
    outcome.hidden = sentences === "";
    outcome.dataset["outcome"] = model.get("good") ? "done" : "error";
    el.classList.toggle("wb-outdated", model.get("outdated"));
    apply.textContent = model.get("offer");
    apply.hidden = model.get("offer") === "";
    const found = JSON.stringify(model.get("tables"));
    if (found !== shown) {
      shown = found;
      tables.replaceChildren(...model.get("tables").map(tableOf));
    }
    tables.hidden = model.get("tables").length === 0;
    const good = model.get("good") ? "done" : "see the result";
    note.textContent = busy ? "in progress" : failed ? "see the problem" : sentences ? good : "";
  };
  start.addEventListener("click", () => {
    if (start.getAttribute("aria-disabled") !== "true") model.send({ kind: "start" });
  });
  cancel.addEventListener("click", () => model.send({ kind: "cancel" }));
  details.addEventListener("toggle", () => {
    if (details.open === model.get("opened")) return;
    model.set("opened", details.open);
    model.save_changes();
  });
  model.on("change:opened", () => {
    details.open = model.get("opened");
  });
  // The kernel leads there, as from a run.
  model.on("msg:custom", ({ kind }: { kind: string }) => {
    if (kind !== "show") return;
    summary.focus({ preventScroll: true });
    el.scrollIntoView({ block: "start" });
  });
  model.on("change", update);
  update();
}

export default widget({ render });
