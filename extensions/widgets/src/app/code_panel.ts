// The Python that does the same as the step that is shown: to read, to copy, to insert as a cell.

import type { RenderProps } from "@anywidget/types";
import { widget } from "../widget";
import { keepViewPlaceholder } from "./placeholder";
import { element } from "../element";
import "./code_panel.css";
import { focusInserted, insertCellBelow, type Notebook } from "./notebook";

interface Traits {
  /** Python source by name of the step. */
  code: Record<string, string>;
  /** Name of a step that is used alone, whose code can be unfolded; empty: the step that the app shows. */
  step: string;
  /** Id of the widget below whose cell a new one is inserted. */
  page_id: string;
}

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-code-panel");
  const copy = element("button", { type: "button", class: "wb-toggle" }, "Copy");
  const insert = element("button", { type: "button", class: "wb-toggle" }, "Insert as cell below");
  const said = element("span", { class: "wb-note", role: "status" });
  const source = element("code", {});
  const shown = element("pre", { tabindex: "0", "aria-label": "Python of this step" }, source);
  const title = "Equivalent Python code";
  const alone = Boolean(model.get("step"));
  const head = element("div", { class: "wb-code-head" }, ...(alone ? [] : [element("h2", {}, title)]));
  head.append(copy, insert, said);
  if (alone) el.append(element("details", {}, element("summary", {}, title), head, shown));
  else el.append(head, shown);

  const notebook = (model.widget_manager as { context?: Notebook }).context;
  insert.hidden = !notebook?.model?.sharedModel;

  const text = () => {
    const step = model.get("step") || (el.closest<HTMLElement>(".wb-page")?.dataset["step"] ?? "model");
    return model.get("code")[step] ?? "";
  };
  const update = () => {
    if (source.textContent === text()) return;
    source.textContent = text();
    said.textContent = "";
  };
  copy.addEventListener("click", () => {
    navigator.clipboard.writeText(text()).then(
      () => (said.textContent = "Copied."),
      () => (said.textContent = "The browser does not allow that: select the text and copy it."),
    );
  });
  insert.addEventListener("click", (event) => {
    if (event.detail > 1) return; // of a double click, which would insert two cells
    const cell = el.closest(".jp-Cell");
    const known = [...(cell?.parentElement?.children ?? [])];
    const below = notebook ? insertCellBelow(notebook, model.get("page_id"), text()) : 0;
    said.textContent = below ? "Inserted." : "The cell of this page was not found.";
    // A page that fills the window covers the cell.
    if (below && cell && !el.closest(".wb-presenting")) focusInserted(cell, below, known);
  });
  // Of the app, the picture of its last result keeps one.
  if (model.get("step")) keepViewPlaceholder(model, model.get("page_id"));
  model.on("change", update);
  const observer = new MutationObserver(update);
  let looking = 0;
  const watch = () => {
    const page = el.closest(".wb-page");
    if (page) observer.observe(page, { attributeFilter: ["data-step"] });
    else if (!signal.aborted) looking = window.setTimeout(watch, 100);
    update();
  };
  signal.addEventListener("abort", () => {
    window.clearTimeout(looking);
    observer.disconnect();
  });
  if (alone) update();
  else watch();
}

export default widget({ render });
