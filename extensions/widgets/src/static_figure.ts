// Keeps the picture of the last result in the notebook itself, for readers without a kernel.
//
// The kernel updates the output beneath the page by its display id, which every front end knows.
// JupyterLab forgets display ids when its page is reloaded. So, where the notebook can be reached,
// a picture that did not arrive that way is put there from here. The notebook is saved when work
// begins and when it ends: without the saved output a reload would not bring this page back.

import type { AnyModel, RenderProps } from "@anywidget/types";
import { keepFigure, type Notebook, saveIfChanged } from "./notebook";

interface Traits {
  /** Id of the widget whose output the picture follows. */
  page_id: string;
  /** Tells one picture from another; empty while there is none. */
  figure_id: string;
  /** Base64. */
  png: string;
  text: string;
  /** Whether something runs. */
  active: boolean;
}

/** Time for the kernel's own update to arrive, in milliseconds. */
const PATIENCE = 1500;

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.hidden = true;
  const notebook = (model.widget_manager as { context?: Notebook }).context;
  if (!notebook?.model?.cells) return;
  let timer = 0;
  const keep = async () => {
    if (model.get("figure_id")) keepFigure(notebook, figureOf(model));
    await saveIfChanged(notebook);
  };
  const later = () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void keep(), PATIENCE);
  };
  model.on("change:figure_id", later);
  model.on("change:active", () => {
    if (model.get("active")) void saveIfChanged(notebook);
  });
  signal.addEventListener("abort", () => window.clearTimeout(timer));
  if (model.get("figure_id")) later();
}

function figureOf(model: AnyModel<Traits>) {
  return {
    pageId: model.get("page_id"),
    figureId: model.get("figure_id"),
    png: model.get("png"),
    text: model.get("text"),
  };
}

export default { render };
