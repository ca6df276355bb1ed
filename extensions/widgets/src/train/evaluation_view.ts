// What the evaluations of the test split found: figures, and a confusion matrix by engine.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import { formatWhole } from "../number_format";
import "./evaluation_view.css";

/** A larger table could not be read. */
const MOST_CLASSES = 30;

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

function matrix({ engine, confusion }: Evaluation, classes: string[]): HTMLElement {
  const name = (index: number) => classes[index] ?? String(index);
  const largest = Math.max(1, ...confusion.flatMap((row, at) => row.filter((_, to) => to !== at)));
  const head = element("tr", {}, element("td", {}, "true \\ predicted"));
  confusion.forEach((_, index) => head.append(element("th", { scope: "col" }, name(index))));
  const rows = confusion.map((row, at) => {
    const cells = row.map((count, to) => {
      const cell = element("td", {}, count ? formatWhole(count) : "·");
      cell.classList.toggle("wb-right", at === to);
      if (at !== to && count) cell.style.setProperty("--wb-share", String(count / largest));
      return cell;
    });
    return element("tr", {}, element("th", { scope: "row" }, name(at)), ...cells);
  });
  return element(
    "table",
    { class: "wb-confusion" },
    element("caption", {}, `Confusion matrix of ${engine}: rows of the test split by class`),
    element("thead", {}, head),
    element("tbody", {}, ...rows),
  );
}

function tooLarge({ engine, confusion }: Evaluation): HTMLElement {
  const text = `Confusion matrix of ${engine}: of ${confusion.length} classes, and at most ${MOST_CLASSES} are shown.`;
  return element("p", { class: "wb-note" }, text);
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-evaluation-view");
  const update = () => {
    const evaluations = model.get("evaluations");
    if (evaluations.length === 0) {
      el.replaceChildren();
      return;
    }
    const unfolded = el.querySelector("details")?.open ?? false;
    const lists = evaluations.map(({ engine, when, metrics }) => {
      const list = element("dl", { "aria-label": `Test split, ${engine}` });
      for (const [name, value] of metrics) {
        list.append(element("div", {}, element("dt", {}, name ?? ""), element("dd", {}, value ?? "")));
      }
      const title = element("h3", {}, engine, " ", element("small", {}, when));
      return element("div", { class: "wb-evaluation" }, title, list);
    });
    const matrices = evaluations
      .filter(({ confusion }) => confusion.length > 1)
      .map((one) => (one.confusion.length <= MOST_CLASSES ? matrix(one, model.get("classes")) : tooLarge(one)));
    el.replaceChildren(element("h2", {}, "Test split"), element("div", { class: "wb-evaluations" }, ...lists));
    if (matrices.length === 0) return;
    const details = element("details", {}, element("summary", {}, "Confusion matrix"), ...matrices);
    details.open = unfolded;
    el.append(details);
  };
  model.on("change", update);
  update();
}

export default { render };
