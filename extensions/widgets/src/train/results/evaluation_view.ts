// The evaluations of the test split: metrics, and the confusion matrix of each engine.

import type { RenderProps } from "@anywidget/types";
import { element } from "../../element";
import { keepFocus } from "../../focus";
import { formatWhole, unbroken } from "../../number_format";
import { widget } from "../../widget";
import { type Confusion, classScores, mistakes, usedClasses } from "./confusion";
import "./evaluation_view.css";

interface Evaluation {
  engine: string;
  /** After which step. */
  when: string;
  /** Pairs of a name and a value with its unit. */
  metrics: string[][];
  /** Rows of true classes, columns of predicted ones; empty without classes. */
  confusion: number[][];
}

interface Traits {
  evaluations: Evaluation[];
  /** Names of the classes; empty: their numbers. */
  classes: string[];
}

/** A matrix of more classes could not be read; what is mistaken most is listed then. */
const MOST_CLASSES = 30;
const MOST_MISTAKES = 20;
/** Names of more characters are written upright over their columns, */
const SHORT_NAME = 3;
/** unless all of them together have no more than this. */
const SHORT_ROW = 40;

type Name = (index: number) => string;

function matrix(engine: string, confusion: Confusion, used: number[], name: Name): HTMLElement {
  const at = (from: number, to: number) => confusion[from]?.[to] ?? 0;
  const wrong = used.flatMap((from) => used.map((to) => (from === to ? 0 : at(from, to))));
  const largest = Math.max(1, ...wrong);
  const corner = element("td", {}, "true \\ predicted");
  const letters = used.map((index) => name(index).length);
  const upright = Math.max(...letters) > SHORT_NAME && letters.reduce((sum, each) => sum + each, 0) > SHORT_ROW;
  const heads = used.map((index) =>
    element("th", { scope: "col", title: name(index) }, element("span", {}, name(index))),
  );
  const rows = used.map((from) => {
    const cells = used.map((to) => {
      const count = at(from, to);
      const what = `${name(from)} predicted as ${name(to)}: ${formatWhole(count)}`;
      const cell = element("td", { title: what }, count ? formatWhole(count) : "·");
      cell.classList.toggle("wb-right", from === to);
      if (from !== to && count) cell.style.setProperty("--wb-share", String(count / largest));
      return cell;
    });
    return element("tr", {}, element("th", { scope: "row" }, name(from)), ...cells);
  });
  const label = `Confusion matrix of ${engine}`;
  const meaning = element("p", { class: "wb-note" }, `${label}: how many of each true class (row) are predicted as which (column)`);
  const table = element(
    "table",
    { class: "wb-confusion" },
    element("thead", {}, element("tr", {}, corner, ...heads)),
    element("tbody", {}, ...rows),
  );
  table.classList.toggle("wb-upright", upright);
  const scroll = element("div", { class: "wb-scroll", tabindex: "0", role: "group", "aria-label": label }, table);
  return element("div", {}, meaning, scroll);
}

function mistakeList(engine: string, confusion: Confusion, name: Name): HTMLElement {
  const found = mistakes(confusion, MOST_MISTAKES);
  const items = found.map(({ from, to, count }) => {
    const pair = element("span", {}, name(from), " → ", name(to));
    return element("li", {}, pair, " ", element("span", { class: "wb-count" }, formatWhole(count)));
  });
  const label = `Most frequent confusions of ${engine}, true → predicted`;
  return element(
    "div",
    {},
    element("p", { class: "wb-note" }, label),
    items.length
      ? element("ul", { class: "wb-mistakes", "aria-label": label }, ...items)
      : element("p", {}, "nothing"),
  );
}

function accuracies(engine: string, confusion: Confusion, name: Name): HTMLElement {
  const label = `Accuracy by class, ${engine}`;
  const list = element("ul", { class: "wb-class-scores", "aria-label": label });
  for (const { index, total, right } of classScores(confusion)) {
    const bar = element("span", { class: "wb-score-bar", "aria-hidden": "true" });
    bar.style.setProperty("--wb-share", String(right / total));
    const share = `${((100 * right) / total).toFixed(1)}\u00a0%`;
    const counts = `${formatWhole(right)} of ${formatWhole(total)}`;
    list.append(
      element(
        "li",
        {},
        element("span", { class: "wb-class", title: name(index) }, name(index)),
        element("span", { class: "wb-score-track", "aria-hidden": "true" }, bar),
        element("span", {}, share),
        element("small", {}, counts),
      ),
    );
  }
  return element("div", {}, element("p", { class: "wb-note" }, label), list);
}

function byClass({ engine, confusion }: Evaluation, name: Name): HTMLElement {
  const used = usedClasses(confusion);
  const shown =
    used.length <= MOST_CLASSES
      ? matrix(engine, confusion, used, name)
      : mistakeList(engine, confusion, name);
  return element("div", { class: "wb-by-class" }, shown, accuracies(engine, confusion, name));
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-evaluation-view");
  const heading = element("h2", {}, "Test split");
  const body = element("div", { class: "wb-evaluations" });
  const summary = element("summary", {}, "Confusion matrix and accuracy by class");
  // Kept while it is open: a reader who scrolls in it is not thrown out by the next evaluation.
  const details = element("details", {}, summary);
  el.append(heading, body, details);
  const ofClasses = () => model.get("evaluations").filter(({ confusion }) => confusion.length > 1);
  /** Only while it is open: evaluations follow each other many times a second. */
  const updateClasses = () => {
    if (!details.open) return;
    const classes = model.get("classes");
    const name: Name = (index) => classes[index] ?? String(index);
    const scrolled = [...details.querySelectorAll(".wb-scroll")].map(({ scrollLeft }) => scrollLeft);
    details.replaceChildren(summary, ...ofClasses().map((one) => byClass(one, name)));
    details.querySelectorAll(".wb-scroll").forEach((one, at) => {
      const left = scrolled[at];
      if (left) one.scrollLeft = left;
    });
  };
  const update = () => {
    const evaluations = model.get("evaluations");
    el.hidden = evaluations.length === 0;
    const lists = evaluations.map(({ engine, when, metrics }) => {
      const list = element("dl", { "aria-label": `Test split, ${engine}` });
      for (const [title, value] of metrics) {
        list.append(element("div", {}, element("dt", {}, title ?? ""), element("dd", {}, unbroken(value ?? ""))));
      }
      const title = element("h3", {}, engine, " ", element("small", {}, when));
      return element("div", { class: "wb-evaluation" }, title, list);
    });
    body.replaceChildren(...lists);
    details.hidden = ofClasses().length === 0;
    updateClasses();
  };
  details.addEventListener("toggle", updateClasses);
  model.on("change", () => keepFocus(el, update));
  update();
}

export default widget({ render });
