// A federated run: what the global weights reach, what its clients do, and who has which rows.

import type { RenderProps } from "@anywidget/types";
import "uplot/dist/uPlot.min.css";
import "../../charts/charts.css";
import "./federation_view.css";
import { element } from "../../element";
import { followOverflow } from "../../scroll_region";
import { onThemeChange } from "../../theme";
import { widget } from "../../widget";
import { type Federated, panelContents } from "./federation_panels";
import { type Client, fillClients, fillLeftOut, fillRounds, type LeftOut } from "./federation_tables";
import { RoundPanel } from "./round_panel";
import { decodeRounds, matrixRows } from "./rounds";

interface Traits {
  /** Model and strategy; empty: nothing is shown. */
  heading: string;
  /** How clients train, and what is done for privacy. */
  note: string;
  measure: "accuracy" | "loss";
  total_rounds: number;
  /** That epsilon is for; 0 without differential privacy. */
  delta: number;
  /** (10, rounds) float32, see rounds.ts. */
  rounds: DataView;
  /** Names of the clients' lines. */
  lines: string[];
  /** (lines, rounds) float32. */
  line_values: DataView;
  /** Of the first clients. */
  clients: Client[];
  client_count: number;
  /** (3, clients) float32: last value, rounds trained, rounds left out. */
  states: DataView;
  /** Names of the classes; empty: their numbers. */
  classes: string[];
  /** Who took no part in which round, and why; the last one first. */
  left_out: LeftOut[];
  left_out_count: number;
}

const PANELS = 5;
const ROUNDS_NOTE =
  "Global weights on the test split; lowest and highest value of the clients on their own test rows. Megabytes are totals of all rounds so far.";

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-federation");
  let cursor: number | null = null;
  const spoken = element("div", { class: "wb-spoken", "aria-live": "polite" });
  const panels = Array.from(
    { length: PANELS },
    () =>
      new RoundPanel({
        onRound: (index) => {
          if (index === cursor) return;
          cursor = index;
          for (const panel of panels) panel.point(cursor);
          const asked = panels.find(({ surface }) => surface === document.activeElement);
          if (asked && cursor !== null) spoken.textContent = asked.sentence;
        },
      }),
  );
  const title = element("h2");
  const part = (name: string, note: HTMLElement, table: HTMLElement) => {
    const scroll = element("div", { class: "wb-scroll" }, table);
    table.setAttribute("aria-label", name);
    followOverflow(scroll, name, signal);
    return [note, scroll];
  };
  const note = element("p", { class: "wb-note" });
  const grid = element("div", { class: "wb-panels" });
  const rounds = element("table", { class: "wb-table" });
  const ofRounds = element("p", { class: "wb-note" }, ROUNDS_NOTE);
  const summary = element("summary", {}, "The rounds as a table");
  const details = element("details", {}, summary, ...part("Rounds", ofRounds, rounds));
  const clients = element("table", { class: "wb-table wb-clients" });
  const ofClients = element("p", { class: "wb-note" });
  const clientsPart = element("section", {}, element("h3", {}, "Clients"), ...part("Clients", ofClients, clients));
  const leftOut = element("table", { class: "wb-table wb-left-out" });
  const ofLeftOut = element("p", { class: "wb-note" });
  const leftOutTitle = "Left out of a round";
  const leftOutPart = element(
    "section",
    {},
    element("h3", {}, leftOutTitle),
    ...part(leftOutTitle, ofLeftOut, leftOut),
  );
  // Charts are charts here as well: the style sheet places and draws them by this name.
  const charts = element("div", { class: "wb-charts" }, grid, spoken);
  const body = [
    element("div", { class: "wb-section-head" }, title),
    note,
    charts,
    details,
    clientsPart,
    leftOutPart,
  ];

  const federated = (): Federated => ({
    rounds: decodeRounds(model.get("rounds")),
    names: model.get("lines"),
    lines: matrixRows(model.get("line_values"), model.get("lines").length),
    measure: model.get("measure"),
    totalRounds: model.get("total_rounds"),
    delta: model.get("delta"),
  });
  const redraw = () => {
    const heading = model.get("heading");
    el.hidden = !heading;
    if (!heading) {
      cursor = null;
      panels.forEach((panel) => panel.destroy());
      el.replaceChildren();
      return;
    }
    title.textContent = `Federated: ${heading}`;
    note.textContent = model.get("note");
    if (!el.hasChildNodes()) el.append(...body);
    drawPanels();
    fillTables();
  };
  const drawPanels = () => {
    if (!el.hasChildNodes()) return;
    const contents = panelContents(federated());
    const shown = panels.slice(0, contents.length).map(({ root }) => root);
    if (grid.childElementCount !== shown.length) grid.replaceChildren(...shown);
    contents.forEach((content, at) => panels[at]?.draw(content, cursor));
  };
  const fillTables = () => {
    if (details.open) fillRounds(rounds, federated());
    fillClients(clients, ofClients, {
      clients: model.get("clients"),
      count: model.get("client_count"),
      names: model.get("classes"),
      measure: model.get("measure"),
      states: matrixRows(model.get("states"), 3),
    });
    leftOutPart.hidden = model.get("left_out_count") === 0;
    fillLeftOut(leftOut, ofLeftOut, model.get("left_out"), model.get("left_out_count"));
  };
  let frame = 0;
  const draw = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      redraw();
    });
  };
  details.addEventListener("toggle", () => details.open && fillRounds(rounds, federated()));
  model.on("change", draw);
  onThemeChange(() => {
    panels.forEach((panel) => panel.rebuild());
    drawPanels();
  }, signal);
  const resized = new ResizeObserver(drawPanels);
  resized.observe(el);
  signal.addEventListener("abort", () => {
    cancelAnimationFrame(frame);
    resized.disconnect();
    panels.forEach((panel) => panel.destroy());
  });
  redraw();
}

export default widget({ render });
