// The rows of the test split that were predicted worst, with target and prediction.

import type { RenderProps } from "@anywidget/types";
import { element, freshId } from "../../element";
import { formatWhole } from "../../number_format";
import "./worst_predictions_view.css";
import { widget } from "../../widget";

interface Row {
  /** Index in the test split. */
  row: number;
  loss: string;
  /** Empty where pictures or symbols show it. */
  target: string;
  prediction: string;
  /** PNG in base64; empty where there is none. */
  picture: string;
  target_picture: string;
  predicted_picture: string;
  /** The row as text; empty for other rows. */
  text: string;
  /** Of each position of a text. */
  target_symbols: string[];
  predicted_symbols: string[];
  /** The first values of a row that is neither picture nor text. */
  cells: string[];
  /** Their names; empty where they have none. */
  columns: string[];
}

interface Engine {
  engine: string;
  /** Why the rows cannot be shown; may be empty. */
  problem: string;
  rows: Row[];
}

interface Traits {
  engines: Engine[];
}

const NO_TARGET = "·";

function picture(png: string, alt: string): HTMLElement {
  return element("img", { src: `data:image/png;base64,${png}`, alt });
}

function caption(row: Row): HTMLElement[] {
  const title = `Row ${formatWhole(row.row)} of the test split`;
  const lines = [element("span", { class: "wb-loss", title }, `loss ${row.loss}`)];
  if (row.target || row.prediction) {
    // Of a class the prediction is its name and how probable it is.
    const right = row.prediction === row.target || row.prediction.startsWith(`${row.target} (`);
    lines.unshift(
      element("span", {}, element("small", {}, "is "), row.target),
      element("span", right ? {} : { class: "wb-wrong" }, element("small", {}, "predicted "), row.prediction),
    );
  }
  return lines;
}

function card(row: Row): HTMLElement {
  const item = element("li", {}, picture(row.picture, `Row ${row.row} of the test split`));
  if (row.target_picture) {
    const pairs = [
      ["target", row.target_picture],
      ["predicted", row.predicted_picture],
    ] as const;
    const figures = pairs.map(([name, png]) =>
      element("figure", {}, picture(png, `${name} of row ${row.row}`), element("figcaption", {}, name)),
    );
    item.replaceChildren(element("div", { class: "wb-beside" }, ...figures));
  }
  item.append(...caption(row));
  return item;
}

/** The predicted symbols; those that are wrong are marked, with what was right as their title. */
function predictedText({ target_symbols, predicted_symbols }: Row): HTMLElement {
  const line = element("p", { class: "wb-text" });
  let right = "";
  const flush = () => {
    if (right) line.append(right);
    right = "";
  };
  predicted_symbols.forEach((symbol, at) => {
    const target = target_symbols[at] ?? NO_TARGET;
    if (target === NO_TARGET || target === symbol) {
      right += target === NO_TARGET ? NO_TARGET : symbol;
      return;
    }
    flush();
    line.append(element("mark", { title: `${target} is right` }, symbol));
  });
  flush();
  return line;
}

function textItem(row: Row): HTMLElement {
  const item = element("li", {}, element("div", { class: "wb-text-head" }, ...caption(row)));
  const described: [string, HTMLElement | null][] = [
    ["input", row.text ? element("p", { class: "wb-text" }, row.text) : null],
    [
      "target",
      row.target_symbols.length
        ? element("p", { class: "wb-text" }, row.target_symbols.join(""))
        : null,
    ],
    ["predicted", row.predicted_symbols.length ? predictedText(row) : null],
  ];
  const list = element("dl");
  for (const [name, line] of described) {
    if (line) list.append(element("dt", {}, name), element("dd", {}, line));
  }
  item.append(list);
  return item;
}

function table(rows: Row[]): HTMLElement {
  const width = Math.max(...rows.map(({ cells }) => cells.length));
  const heads = ["Row", "Loss", "Target", "Predicted"].map((name) => element("th", { scope: "col" }, name));
  for (let at = 0; at < width; at += 1) {
    const last = at === width - 1 && rows.some(({ cells }) => cells[at] === "…");
    heads.push(element("th", { scope: "col" }, last ? "…" : (rows[0]?.columns[at] ?? `value ${at}`)));
  }
  const body = rows.map((row) => {
    const facts = [formatWhole(row.row), row.loss, row.target, row.prediction];
    return element("tr", {}, ...[...facts, ...row.cells].map((text) => element("td", {}, text)));
  });
  const made = element(
    "table",
    { class: "wb-table" },
    element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, ...body),
  );
  const scrolled = { class: "wb-scroll", tabindex: "0", role: "group", "aria-label": "Worst predictions" };
  return element("div", scrolled, made);
}

function shown({ rows, problem, engine }: Engine): HTMLElement {
  if (problem) return element("p", { class: "wb-problem" }, `The rows cannot be shown: ${problem}`);
  const label = { "aria-label": `Worst predictions of ${engine}` };
  const [first] = rows;
  if (first?.picture) return element("ul", { class: "wb-cards", ...label }, ...rows.map(card));
  if (first?.text) return element("ul", { class: "wb-texts", ...label }, ...rows.map(textItem));
  return table(rows);
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-worst-predictions");
  const choice = element("select", { id: freshId("worst") });
  const label = element("label", { for: choice.id }, "Engine");
  const chooser = element("span", { class: "wb-worst-choice" }, label, " ", choice);
  const head = element("div", { class: "wb-section-head" }, element("h2", {}, "Worst predictions"), chooser);
  const note = element("p", { class: "wb-note" }, "Rows of the test split with the highest loss.");
  const body = element("div");
  el.append(head, note, body);

  const update = () => {
    const engines = model.get("engines");
    el.hidden = engines.length === 0;
    const names = engines.map(({ engine }) => engine);
    if (names.join() !== [...choice.options].map(({ value }) => value).join()) {
      const kept = choice.value;
      choice.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
      if (names.includes(kept)) choice.value = kept;
    }
    chooser.hidden = names.length < 2;
    const chosen = engines.find(({ engine }) => engine === choice.value) ?? engines[0];
    const inner = body.querySelector(".wb-scroll, ul");
    const { scrollLeft, scrollTop } = inner ?? { scrollLeft: 0, scrollTop: 0 };
    body.replaceChildren(...(chosen ? [shown(chosen)] : []));
    body.querySelector(".wb-scroll, ul")?.scrollTo?.(scrollLeft, scrollTop);
  };
  choice.addEventListener("change", update);
  model.on("change:engines", update);
  update();
}

export default widget({ render });
