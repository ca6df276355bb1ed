// The buttons of the actions for the selected runs, and a form for the argument of an action.

import { element, freshId } from "../element";
import { roveFocus } from "../roving_focus";
import { type Action, ACTIONS, ADAPTERS, AFTER_EXPORT, EXPORT, type Field, PERSONALISE, sharedTags } from "./run_action_list";
import { displayName, type RunRow } from "./run_row";

/** Asks the kernel for an action on runs; `text` is a name, tags, notes or a path. */
export type Act = (name: string, ids: string[], text?: string) => void;

export class RunActions {
  readonly root = element("div", { class: "wb-run-actions" });
  /** How many are selected, and what else is to be said beside it. */
  readonly line = element("div", { class: "wb-run-selection" });
  private readonly buttons = new Map<string, HTMLButtonElement>();
  private readonly selected = element("span", { class: "wb-run-selected" });
  /** Also of those that are out of sight. */
  private readonly deselect = element("button", { type: "button", class: "wb-toggle", hidden: "" }, "Deselect");
  /** Why a button that was pressed does nothing. */
  private readonly refused = element("span", { class: "wb-hint", role: "status" });
  private readonly bar = element("div", { class: "wb-run-buttons", role: "toolbar", "aria-label": "Selected runs" });
  private readonly editor = element("form", { class: "wb-run-editor", hidden: "" });
  private readonly problem = element("p", { id: freshId("problem"), class: "wb-run-editor-problem", role: "alert" });
  /** Whether the form stays until it is known how its action ended. */
  private awaiting = false;
  /** Whether an export has not ended: the next one waits, so that an outcome is not taken for that of another export. */
  private exporting = false;
  /** What had the focus as the form was opened. */
  private opener: HTMLElement | null = null;
  private rows: RunRow[] = [];
  private hidden: RunRow[] = [];

  constructor(
    private readonly act: Act,
    private readonly bases: readonly string[],
    onDeselect: () => void,
  ) {
    this.deselect.addEventListener("click", onDeselect);
    for (const action of ACTIONS) {
      const button = element("button", { type: "button", class: "wb-button wb-small" }, action.label);
      button.addEventListener("click", () => this.start(action.name));
      button.hidden = action.name === PERSONALISE && bases.length === 0;
      this.buttons.set(action.name, button);
      this.bar.append(button);
    }
    roveFocus(this.bar);
    this.bar.addEventListener("focusout", () => (this.refused.textContent = ""));
    this.line.append(this.selected, this.deselect, this.refused);
    this.root.append(this.line, this.bar, this.editor);
  }

  /** Nothing can be done with runs any more. */
  lose(): void {
    this.bar.inert = this.editor.inert = true;
  }

  /** Fits the buttons to the selected runs: those that the list shows, and those a filter hides. */
  update(rows: RunRow[], hidden: RunRow[]): void {
    if (rows.length !== this.rows.length || hidden.length !== this.hidden.length) this.refused.textContent = "";
    this.rows = rows;
    this.hidden = hidden;
    const count = rows.length + hidden.length;
    this.deselect.hidden = count === 0;
    const unseen = hidden.length ? `, ${hidden.length} not shown` : "";
    this.selected.textContent = count === 0 ? "Nothing selected" : `${count} selected${unseen}`;
    for (const action of ACTIONS) {
      const button = this.buttons.get(action.name) as HTMLButtonElement;
      const refusal = this.refusal(action);
      // Not `disabled`: the button keeps its focus, and says why it does nothing.
      button.setAttribute("aria-disabled", String(refusal !== ""));
      button.title = refusal;
    }
    // Rows that are selected may be out of view.
    (this.buttons.get("delete") as HTMLButtonElement).textContent = rows.length > 1 ? `Delete ${rows.length}` : "Delete";
  }

  /** Closes the form of an action that is done; tells whether the outcome is shown in the form: why the action was refused. */
  showOutcome(outcome: string, message: string, cancellable: boolean): boolean {
    this.exporting = outcome === "busy" && (this.exporting || cancellable);
    this.update(this.rows, this.hidden);
    if (!this.awaiting) return false;
    if (outcome === "done") this.close();
    const refused = outcome === "error";
    this.problem.textContent = refused ? message : "";
    this.editor.querySelector("input")?.setAttribute("aria-invalid", String(refused));
    this.editor.querySelector('[type="submit"]')?.setAttribute("aria-disabled", String(outcome === "busy"));
    return refused;
  }

  /** Runs an action, or asks for its argument. */
  start(name: string): void {
    const action = ACTIONS.find((each) => each.name === name);
    if (!action) return;
    this.refused.textContent = this.refusal(action);
    if (this.refused.textContent) return;
    const rows = this.taken(action);
    if (action.field) this.edit(action.name, rows, action.field);
    else this.act(name, idsOf(rows));
  }

  /** Why an action cannot be done now; empty if it can. */
  private refusal(action: Action): string {
    const rows = this.taken(action);
    if (rows.length === 0) return "Select a run first.";
    if (AFTER_EXPORT.includes(action.name) && this.exporting) return "An export is in progress. Wait until it has ended, or cancel it.";
    return action.refusal(rows, this.bases);
  }

  private taken(action: Action): RunRow[] {
    return action.hiddenToo ? [...this.rows, ...this.hidden] : this.rows;
  }

  private edit(name: string, rows: RunRow[], field: Field): void {
    const id = freshId("run-field");
    if (document.activeElement instanceof HTMLElement && !this.editor.contains(document.activeElement)) this.opener = document.activeElement;
    const attributes = {
      id,
      maxlength: String(field.longest),
      placeholder: field.placeholder,
      spellcheck: "false",
      "aria-describedby": this.problem.id,
    };
    const input = field.many
      ? element("textarea", { ...attributes, rows: "3" })
      : element("input", { ...attributes, type: "text" });
    input.value = field.value(rows);
    const [row] = rows;
    const several = rows.length > 2 ? `all ${rows.length}` : "both";
    const whose = rows.length > 1 ? ` that ${several} runs have` : row ? ` of ${cutName(row)}` : "";
    const options = (field.ways ?? []).map(([value, label]) => element("option", { value }, label));
    const way = element("select", { "aria-label": "What to write" }, ...options);
    const fitSuffix = () => {
      const suffix = way.value === ADAPTERS ? ".onnx_adapter" : ".onnx";
      input.value = input.value.replace(/\.onnx(_adapter)?$/, suffix);
    };
    if (field.ways) way.addEventListener("change", fitSuffix);
    const cancel = element("button", { type: "button", class: "wb-button wb-small" }, "Cancel");
    const save = element("button", { type: "submit", class: "wb-button wb-small wb-primary" }, field.submit ?? "Save");
    const text = typeof field.label === "string" ? field.label + whose : field.label(rows, whose);
    const label = element("label", { for: id }, text);
    this.awaiting = false;
    this.problem.textContent = "";
    this.editor.replaceChildren(label, input, ...(field.ways ? [way] : []), save, cancel, this.problem);
    this.editor.hidden = false;
    this.editor.onsubmit = (event) => {
      event.preventDefault();
      if (save.getAttribute("aria-disabled") === "true") return;
      if (name === "tag" && rows.length > 1) this.tagAll(rows, input.value);
      else {
        if (field.ways) fitSuffix();
        this.act(way.value === ADAPTERS ? name : way.value || name, idsOf(rows), input.value);
      }
      this.awaiting = field.mayBeRefused ?? false;
      this.exporting ||= name === EXPORT;
      this.update(this.rows, this.hidden);
      if (!this.awaiting) this.close();
    };
    cancel.onclick = () => this.close();
    this.editor.onkeydown = (event) => {
      if (event.key === "Escape") this.close();
      const submits = field.many ? event.ctrlKey || event.metaKey : event.target === input;
      if (event.key === "Enter" && submits) {
        // Within a notebook the browser does not always submit a form by itself.
        event.preventDefault();
        this.editor.requestSubmit();
      }
      event.stopPropagation();
    };
    input.focus();
    input.select();
  }

  /** Only what was changed: the tags that the runs do not share stay. */
  private tagAll(rows: RunRow[], text: string): void {
    const before = sharedTags(rows);
    const after = text.split(",").map((tag) => tag.trim());
    const added = after.filter((tag) => tag !== "" && !before.includes(tag));
    const removed = before.filter((tag) => !after.includes(tag));
    if (added.length) this.act("add_tags", idsOf(rows), added.join(", "));
    if (removed.length) this.act("remove_tags", idsOf(rows), removed.join(", "));
  }

  /** Closes the form, with the focus back on what opened it: its action is done, or was given up. */
  private close(): void {
    this.awaiting = false;
    const focused = this.editor.contains(document.activeElement);
    this.editor.hidden = true;
    this.editor.replaceChildren();
    if (focused) this.opener?.focus({ preventScroll: true });
  }
}

function idsOf(rows: RunRow[]): string[] {
  return rows.map((row) => row.id);
}

function cutName(row: RunRow): string {
  const name = displayName(row);
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}
