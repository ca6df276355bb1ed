// Runs that wait for a user: in progress, or interrupted, as after the kernel was started again.

import { element, setAttribute, setText } from "../element";
import { keepFocus } from "../focus";
import { formatWhole } from "../number_format";
import type { Act } from "./run_actions";
import { COMPARED, displayName, isActive, isResumable, type RunRow } from "./run_row";

const MOST = 3;

/** The runs to offer, those in progress first, the newest of each first. */
export function offered(rows: Iterable<RunRow>): RunRow[] {
  const all = [...rows];
  const waiting = all.filter((row) => isActive(row) || (row.status === "interrupted" && (isResumable(row) || !isTrainedSince(row, all))));
  const newest = waiting.sort((a, b) => (a.id < b.id ? 1 : -1));
  return [...newest.filter(isActive), ...newest.filter((row) => !isActive(row))];
}

/** Whether the same model was trained by the same engine later: one without a step need not begin again. */
function isTrainedSince(row: RunRow, rows: RunRow[]): boolean {
  return rows.some(({ id, model, trainedBy }) => id > row.id && model === row.model && trainedBy === row.trainedBy);
}

export class RunOffers {
  readonly root = element("section", { class: "wb-run-offers", "aria-label": "Runs to follow or resume" });
  private shown = "";

  /** @param otherwise what gets the focus when the last offer is gone. */
  constructor(
    private readonly act: Act,
    private readonly otherwise: () => HTMLElement,
  ) {}

  update(rows: Iterable<RunRow>): void {
    keepFocus(this.root, () => this.show(offered(rows)), () => this.root.querySelector("button") ?? this.otherwise());
  }

  private show(runs: RunRow[]): void {
    this.root.hidden = runs.length === 0;
    // Buttons that are replaced would lose the focus, and the steps change twice a second.
    const key = JSON.stringify(runs.map((row) => [row.id, row.status, displayName(row), isResumable(row)]));
    if (key !== this.shown) {
      this.shown = key;
      this.root.replaceChildren(...runs.slice(0, MOST).map((row) => this.offer(row)));
      const more = runs.length - MOST;
      if (more > 0) {
        const text = `and ${formatWhole(more)} more; filter by status to see them.`;
        this.root.append(element("p", { class: "wb-note" }, text));
      }
    }
    runs.slice(0, MOST).forEach((row, index) => {
      const where = this.root.children[index]?.querySelector(".wb-offer-where");
      if (where) setText(where, whereOf(row));
      if (where) setAttribute(where, "title", whereOf(row));
    });
  }

  private offer(row: RunRow): HTMLElement {
    const active = isActive(row);
    const button = (name: string, label: string) => {
      const made = element("button", { type: "button", class: "wb-button wb-small", "data-key": `${name} ${row.id}` }, label);
      made.addEventListener("click", () => this.act(name, [row.id]));
      return made;
    };
    const status = element("span", { class: "wb-run-status" }, active ? row.status : "interrupted");
    status.dataset["status"] = row.status;
    const name = element("span", { class: "wb-offer-name", title: `${displayName(row)}\nId: ${row.id}` }, displayName(row));
    const paused = row.status === "paused" || !active;
    return element(
      "div",
      { class: "wb-notice wb-offer" },
      status,
      name,
      element("span", { class: "wb-offer-where" }),
      element(
        "span",
        { class: "wb-offer-buttons" },
        ...(paused && isResumable(row) ? [button("resume", "Resume")] : []),
        button("open", "Open"),
        ...(active ? [button("stop", "Stop")] : []),
      ),
    );
  }
}

function whereOf(row: RunRow): string {
  const part = row.comparison && `, ${COMPARED}`;
  const where = `${row.engine}, ${row.stepWord} ${formatWhole(row.steps)} of ${formatWhole(row.totalSteps)}${part}`;
  const again = isResumable(row) ? "" : "Open it to train it again with its settings.";
  return [row.reason || again ? `${where}.` : where, row.reason, again].filter(Boolean).join(" ");
}
