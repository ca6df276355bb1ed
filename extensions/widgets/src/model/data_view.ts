// Summary of the chosen dataset: some rows, the number of rows of each class, and ranges.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import { widget } from "../widget";
import { evenDigits } from "./even_digits";
import { formatWhole } from "../number_format";
import "./data_view.css";

interface Picture {
  /** Base64. */
  png: string;
  label: string;
}

interface Text {
  text: string;
  /** Its class; may be empty. */
  label: string;
  /** The targets of its positions, as text; may be empty. */
  target: string;
}

interface ClassCount {
  name: string;
  /** In the training split. */
  rows: number;
}

interface Traits {
  hint: string;
  /** Why the dataset cannot be loaded, or the model not be trained on it. */
  problem: string;
  title: string;
  /** Pairs of a name and what there is to say of it. */
  facts: string[][];
  counts: ClassCount[];
  pictures: Picture[];
  texts: Text[];
  columns: string[];
  rows: string[][];
  /** Of each column; empty without a table. */
  ranges: string[];
}

function bars(counts: ClassCount[]): HTMLElement {
  const largest = Math.max(1, ...counts.map(({ rows }) => rows));
  const list = element("ul", { class: "wb-class-counts", "aria-label": "Training rows by class" });
  for (const { name, rows } of counts) {
    const bar = element("span", { class: "wb-class-bar", "aria-hidden": "true" });
    bar.style.setProperty("--wb-share", String(rows / largest));
    const value = element("span", { class: "wb-class-count" }, formatWhole(rows));
    list.append(element("li", {}, element("span", {}, name), bar, value));
  }
  return element("div", {}, element("p", { class: "wb-note", "aria-hidden": "true" }, "Training rows by class"), list);
}

function gallery(pictures: Picture[]): HTMLElement {
  const list = element("ul", { class: "wb-pictures", "aria-label": "Some rows" });
  for (const { png, label } of pictures) {
    const source = `data:image/png;base64,${png}`;
    const image = element("img", { src: source, alt: label ? `A row of class ${label}` : "A row" });
    list.append(element("li", {}, image, element("span", { "aria-hidden": "true" }, label)));
  }
  return list;
}

function textList(texts: Text[]): HTMLElement {
  const list = element("ul", { class: "wb-texts", "aria-label": "Some rows" });
  for (const { text, label, target } of texts) {
    const item = element("li", {}, element("p", { class: "wb-text" }, text));
    if (label) item.prepend(element("span", { class: "wb-text-label" }, label));
    if (target) {
      const line = element("p", { class: "wb-text wb-text-target" }, target);
      item.append(element("small", {}, "target"), line);
    }
    list.append(item);
  }
  return list;
}

function table(columns: string[], rows: string[][], ranges: string[]): HTMLElement {
  const head = columns.map((name) => element("th", { scope: "col" }, name));
  const even = columns.map((_, index) => evenDigits(rows.map((row) => row[index] ?? "")));
  const body = rows.map((_, row) => element("tr", {}, ...even.map((column) => element("td", {}, column[row] ?? ""))));
  const made = element(
    "table",
    { class: "wb-table", "aria-label": "Some rows" },
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...body),
    element("tfoot", {}, element("tr", {}, ...ranges.map((range) => element("td", {}, evenDigits(range.split(" to ")).join(" to "))))),
  );
  const scrolled = { class: "wb-scroll", tabindex: "0", role: "group", "aria-label": "Some rows" };
  return element("div", scrolled, made);
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-data-view");
  const update = () => {
    const title = model.get("title");
    const heading = element("h2", {}, title ? `Data: ${title}` : "Data");
    const problem = model.get("problem");
    const alerts = problem ? [element("p", { class: "wb-problem", role: "alert" }, problem)] : [];
    if (!title) {
      const hint = element("p", { class: "wb-hint" }, model.get("hint"));
      el.replaceChildren(heading, ...(problem ? alerts : [hint]));
      return;
    }
    const facts = element("dl", { class: "wb-data-facts" });
    for (const [name, value] of model.get("facts")) {
      facts.append(
        element("div", {}, element("dt", {}, name ?? ""), element("dd", {}, value ?? "")),
      );
    }
    const { pictures, texts, rows, counts } = {
      pictures: model.get("pictures"),
      texts: model.get("texts"),
      rows: model.get("rows"),
      counts: model.get("counts"),
    };
    const beside = element("div", { class: "wb-data-beside" }, facts);
    if (counts.length) beside.append(bars(counts));
    el.replaceChildren(
      heading,
      ...alerts,
      ...(pictures.length ? [gallery(pictures)] : []),
      ...(texts.length ? [textList(texts)] : []),
      beside,
      ...(rows.length ? [table(model.get("columns"), rows, model.get("ranges"))] : []),
    );
  };
  model.on("change", update);
  update();
}

export default widget({ render });
