// The tables of a federated run: its rounds, its clients with their rows, and who was left out.

import { element } from "../../element";
import { formatLoss, formatSignificant, formatWhole } from "../../number_format";
import type { Federated } from "./federation_panels";

export interface Client {
  rows: number;
  test_rows: number;
  /** Rows of each class; empty where rows have none. */
  classes: number[];
}

export interface LeftOut {
  round: number;
  client: number;
  reason: string;
}

/** A map of more classes could not be read; how many of them a client has is said then. */
const MOST_CLASSES = 30;

const head = (...cells: HTMLElement[]) => element("thead", {}, element("tr", {}, ...cells));
const column = (name: string) => element("th", { scope: "col" }, name);
const row = (name: string, ...cells: HTMLElement[]) =>
  element("tr", {}, element("th", { scope: "row" }, name), ...cells);
const cell = (text: string) => element("td", {}, text);
// Units are in the heading: what is in each cell would make the tables wider than their place.
const titleOf = (measure: Federated["measure"]) => (measure === "accuracy" ? "Accuracy (%)" : "Loss");
const known = (value: number | undefined, text: (value: number) => string) =>
  value === undefined || !Number.isFinite(value) ? "–" : text(value);
const valueText = (measure: Federated["measure"], value: number | undefined) =>
  known(value, (each) => (measure === "accuracy" ? (100 * each).toFixed(1) : formatLoss(each)));

/** Values of the charts, round by round. */
export function fillRounds(table: HTMLTableElement, { rounds, lines, measure, delta }: Federated): void {
  const [title, loss] = [titleOf(measure), "Test loss"];
  const reached = measure === "accuracy" ? [title, loss] : [loss];
  const each = measure === "accuracy" ? "Each client (%)" : "Each client";
  const simulated = rounds.simulatedSeconds.some(Number.isFinite);
  const names = [
    ...["Round", ...reached, each, "Trained", "Left out", "Sent (MB)", "Received (MB)", "Time (s)"],
    ...(simulated ? ["On devices, simulated (s)"] : []),
    ...(delta > 0 ? ["Epsilon"] : []),
  ];
  const body = element("tbody");
  rounds.round.forEach((round, at) => {
    const own = lines.map((values) => values[at] as number).filter(Number.isFinite);
    const text = (value: number) => valueText(measure, value);
    const between = own.length ? `${text(Math.min(...own))} to ${text(Math.max(...own))}` : "–";
    const cells = [
      ...(measure === "accuracy" ? [text(rounds.value[at] as number)] : []),
      known(rounds.loss[at], formatLoss),
      between,
      formatWhole(rounds.trained[at] as number),
      formatWhole(rounds.leftOut[at] as number),
      formatSignificant((rounds.sentBytes[at] as number) / 1e6),
      formatSignificant((rounds.receivedBytes[at] as number) / 1e6),
      known(rounds.seconds[at], formatSignificant),
      ...(simulated ? [known(rounds.simulatedSeconds[at], formatSignificant)] : []),
      ...(delta > 0 ? [formatSignificant(rounds.epsilon[at] as number)] : []),
    ];
    body.append(row(formatWhole(round), ...cells.map(cell)));
  });
  table.replaceChildren(head(...names.map(column)), body);
}

export interface ClientTable {
  clients: Client[];
  /** Of all, of which `clients` may be the first. */
  count: number;
  /** Names of the classes; empty: their numbers. */
  names: string[];
  measure: Federated["measure"];
  /** Last value, rounds trained, rounds left out; by client. */
  states: Float64Array[];
}

/** Who has which rows, and how each client does; `note` says what is shown. */
export function fillClients(table: HTMLTableElement, note: HTMLElement, { clients, count, names, measure, states }: ClientTable): void {
  const classes = Math.max(0, ...clients.map((client) => client.classes.length));
  const mapped = classes > 0 && classes <= MOST_CLASSES;
  const most = Math.max(1, ...clients.flatMap((client) => client.classes));
  const name = (index: number) => names[index] ?? String(index);
  const heads = mapped
    ? Array.from({ length: classes }, (_, index) =>
        element("th", { scope: "col", class: "wb-class-head", title: name(index) }, name(index)),
      )
    : classes > 0
      ? [column("Classes")]
      : [];
  const [last, trained, leftOut] = states;
  const body = element("tbody");
  clients.forEach(({ rows, test_rows, classes: own }, at) => {
    const held = own.filter((each) => each > 0).length;
    const ofClasses = mapped
      ? own.map((each, index) => shaded(each, most, `${formatWhole(each)} rows of ${name(index)}`))
      : classes > 0
        ? [cell(`${held} of ${classes}`)]
        : [];
    body.append(
      row(
        String(at),
        cell(formatWhole(rows)),
        cell(formatWhole(test_rows)),
        ...ofClasses,
        cell(valueText(measure, last?.[at])),
        cell(formatWhole(trained?.[at] ?? 0)),
        cell(formatWhole(leftOut?.[at] ?? 0)),
      ),
    );
  });
  const shownOf = clients.length < count ? ` The first ${clients.length} of ${formatWhole(count)} clients.` : "";
  const what = mapped ? "Training rows by class; stronger shades are more rows." : "Training rows.";
  note.textContent = `${what} ${measure === "accuracy" ? "Accuracy" : "Loss"} is of the global weights on the test rows of the client.${shownOf}`;
  table.replaceChildren(
    head(
      column("Client"),
      column("Rows"),
      column("Test rows"),
      ...heads,
      column(titleOf(measure)),
      column("Rounds trained"),
      column("Left out"),
    ),
    body,
  );
}

function shaded(count: number, most: number, title: string): HTMLElement {
  const made = element("td", { class: "wb-class-rows", title }, count ? formatWhole(count) : "·");
  if (count) made.style.setProperty("--wb-share", String(count / most));
  return made;
}

/** Who took no part in which round, and why. */
export function fillLeftOut(table: HTMLTableElement, note: HTMLElement, leftOut: LeftOut[], count: number): void {
  const body = element("tbody");
  for (const { round, client, reason } of leftOut) {
    const why = element("td", { class: "wb-reason" }, reason);
    body.append(row(formatWhole(round), cell(`Client ${client}`), why));
  }
  note.textContent = leftOut.length < count ? `The last ${leftOut.length} of ${formatWhole(count)}.` : "";
  const why = element("th", { scope: "col", class: "wb-reason" }, "Why");
  table.replaceChildren(head(column("Round"), column("Client"), why), body);
}
