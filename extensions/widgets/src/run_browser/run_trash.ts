// The deleted runs, in a section that unfolds, each with a button that restores it.

import { element } from "../element";
import { formatWhole } from "../number_format";
import type { Act } from "./run_actions";

export interface DeletedRun {
  id: string;
  /** Its display name, or model, engine and start. */
  title: string;
  /** Seconds since the epoch. */
  deleted_at: number;
}

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

export class RunTrash {
  readonly root = element("details", { class: "wb-run-trash", hidden: "" });
  private readonly summary = element("summary");
  private readonly more = element("p", { class: "wb-note", hidden: "" });
  private readonly list = element("ul", { "aria-label": "Deleted runs" });

  constructor(private readonly act: Act) {
    const note = "A deleted run is kept for 30 days. Restored runs are listed again.";
    this.root.append(this.summary, element("p", { class: "wb-note" }, note), this.list, this.more);
  }

  /** Shows the runs that were deleted last, of `total`. */
  update(deleted: readonly DeletedRun[], total: number): void {
    this.root.hidden = deleted.length === 0;
    this.summary.textContent = `Deleted runs (${formatWhole(total)})`;
    const more = total - deleted.length;
    this.more.hidden = more <= 0;
    this.more.textContent = `wb.runs(deleted=True) lists ${formatWhole(more)} more, and wb.undelete restores them.`;
    const focused = [...this.list.querySelectorAll("button")].findIndex((each) => each === document.activeElement);
    this.list.replaceChildren(...deleted.map((run) => this.item(run)));
    // The button that was pressed is gone with its run: the focus goes to that of the next one.
    const buttons = this.list.querySelectorAll("button");
    if (focused >= 0) (buttons[Math.min(focused, buttons.length - 1)] ?? this.summary).focus();
  }

  private item({ id, title, deleted_at }: DeletedRun): HTMLElement {
    const restore = element(
      "button",
      { type: "button", class: "wb-button wb-small", "aria-label": `Restore ${title}` },
      "Restore",
    );
    restore.addEventListener("click", () => this.act("undelete", [id]));
    const when = `deleted ${day.format(new Date(1000 * deleted_at)).replace(",", "")}`;
    const name = element("span", { class: "wb-run-name", title: `Id: ${id}` }, title);
    return element("li", {}, name, element("span", { class: "wb-note" }, when), restore);
  }
}
