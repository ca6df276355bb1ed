// What is in the chosen dataset: a few rows, how many there are of each class, and ranges.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import { formatWhole } from "../number_format";
import "./data_view.css";

interface Picture {
  /** Base64. */
  png: string;
  label: string;
}

interface ClassCount {
  name: string;
  /** In the training split. */
  rows: number;
}

interface Traits {
  hint: string;
  /** Why the dataset cannot be loaded. */
  problem: string;
  title: string;
  /** Pairs of a name and what there is to say of it. */
  facts: string[][];
  counts: ClassCount[];
  pictures: Picture[];
  columns: string[];
  rows: string[][];
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
  return list;
}

function gallery(pictures: Picture[]): HTMLElement {
  const list = element("ul", { class: "wb-pictures", "aria-label": "First rows" });
  for (const { png, label } of pictures) {
    const source = `data:image/png;base64,${png}`;
    const image = element("img", { src: source, alt: `A row of class ${label}` });
    list.append(element("li", {}, image, element("span", { "aria-hidden": "true" }, label)));
  }
  return list;
}

function table(columns: string[], rows: string[][]): HTMLElement {
  const head = columns.map((name) => element("th", { scope: "col" }, name));
  const body = rows.map((row) => element("tr", {}, ...row.map((one) => element("td", {}, one))));
  const made = element(
    "table",
    { class: "wb-table", "aria-label": "First rows" },
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...body),
  );
  const scrolled = { class: "wb-scroll", tabindex: "0", role: "group", "aria-label": "First rows" };
  return element("div", scrolled, made);
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-data-view");
  const update = () => {
    const title = model.get("title");
    const heading = element("h2", {}, title ? `Data: ${title}` : "Data");
    if (!title) {
      const problem = model.get("problem");
      const kind = problem ? { class: "wb-problem", role: "alert" } : { class: "wb-hint" };
      el.replaceChildren(heading, element("p", kind, problem || model.get("hint")));
      return;
    }
    const facts = element("dl", { class: "wb-data-facts" });
    for (const [name, value] of model.get("facts")) {
      facts.append(
        element("div", {}, element("dt", {}, name ?? ""), element("dd", {}, value ?? "")),
      );
    }
    const { pictures, rows, counts } = {
      pictures: model.get("pictures"),
      rows: model.get("rows"),
      counts: model.get("counts"),
    };
    const beside = element("div", { class: "wb-data-beside" }, facts);
    if (counts.length) beside.append(bars(counts));
    el.replaceChildren(
      heading,
      ...(pictures.length ? [gallery(pictures)] : []),
      beside,
      ...(rows.length ? [table(model.get("columns"), rows)] : []),
    );
  };
  model.on("change", update);
  update();
}

export default { render };
