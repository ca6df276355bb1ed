// The table of runs as its tests use it: with a model that records what is sent.

import type { RunRow } from "../../src/run_browser/run_row";
import runTable from "../../src/run_browser/run_table";
import { signalOfTest, WidgetModel } from "../widget_model";

interface Sent {
  kind: string;
  name?: string;
  runs?: string[];
  text?: string;
}

export const TRAITS = {
  query: "",
  sort_by: "started",
  descending: true,
  filters: {} as Record<string, string>,
  selected: [] as string[],
  folder: "/runs",
  bases: [] as string[],
  loading: false,
  problem: "",
  outcome: "done",
  message: "",
  cancellable: false,
  undo: [] as string[],
  deleted: [] as { id: string; title: string; deleted_at: number }[],
  deleted_total: 0,
};

/** A model that also takes and gives messages. */
export class Model extends WidgetModel<typeof TRAITS> {
  override readonly sent: Sent[] = [];
  private onMessage: (message: object, buffers: DataView[]) => void = () => {};

  override send(message: Sent): void {
    this.sent.push(message);
  }

  override on(event: string, listener: () => void): void {
    if (event === "msg:custom") this.onMessage = listener;
    else super.on(event, listener);
  }

  rows(rows: RunRow[], more: object = {}): void {
    const curves = new Float32Array(rows.flatMap((each) => [...each.curve]));
    const sent = rows.map(({ curve, ...each }) => ({ ...each, points: curve.length }));
    this.onMessage({ kind: "rows", full: false, rows: sent, removed: [], ...more }, [new DataView(curves.buffer)]);
  }
}

/** The table with these rows, as a page shows it. */
export function render(rows: RunRow[], more: Partial<typeof TRAITS> = {}) {
  const model = new Model({ ...TRAITS, ...more });
  const el = document.createElement("div");
  document.body.replaceChildren(el);
  const signal = signalOfTest();
  runTable.render({ model, el, signal } as never);
  model.rows(rows, { full: true });
  const grid = el.querySelector<HTMLElement>('[role="grid"]') as HTMLElement;
  const names = () => [...el.querySelectorAll(".wb-run-name")].map((node) => node.textContent);
  const selected = () =>
    [...el.querySelectorAll<HTMLElement>('[aria-selected="true"]')].map((node) => node.dataset["run"]);
  const press = (key: string, more: object = {}) =>
    grid.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
  const button = (name: string) =>
    [...el.querySelectorAll<HTMLButtonElement>(".wb-run-buttons button, .wb-run-message button")].find((each) => each.textContent === name) as HTMLButtonElement;
  return { model, el, grid, names, selected, press, button };
}
