// Keeps the picture of the last result in the notebook itself, for readers without a kernel.
//
// The kernel updates the output beneath the page by its display id, which every front end knows.
// JupyterLab forgets display ids when its page is reloaded. So, where the notebook can be reached,
// a picture that did not arrive that way is put there from here. Where that is wanted, the notebook
// is saved when work begins and when it ends: without the saved output a reload would not bring this
// page back. Beside the live page the style sheet hides the picture: it is for where no kernel is.
// There a placeholder replaces the page.

import type { RenderProps } from "@anywidget/types";
import { widget } from "../widget";
import { keepPlaceholder } from "./placeholder";
import { keepOutputs, type Notebook, type Output, saveIfChanged } from "./notebook";

interface Traits {
  /** Id of the widget whose output the picture follows. */
  page_id: string;
  /** Tells one picture from another; empty while there is none. */
  figure_id: string;
  /** The picture, and the table below it. */
  outputs: Record<string, unknown>[];
  /** Whether something runs. */
  active: boolean;
  /** Whether the notebook is saved when work begins and when it has ended. */
  saves: boolean;
}

/** Time for the kernel's own update to arrive, in milliseconds. */
const UPDATE_DELAY = 1500;

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.hidden = true;
  const notebook = (model.widget_manager as { context?: Notebook }).context;
  if (!notebook?.model?.cells) return;
  let timer = 0;
  const keep = async () => {
    keepPlaceholder(notebook, model.get("page_id"));
    const outputs = model.get("outputs") as Output[];
    if (model.get("figure_id")) keepOutputs(notebook, model.get("page_id"), model.get("figure_id"), outputs);
    if (model.get("saves")) await saveIfChanged(notebook);
  };
  const later = () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void keep(), UPDATE_DELAY);
  };
  model.on("change:figure_id", later);
  model.on("change:active", () => {
    if (model.get("active") && model.get("saves")) void saveIfChanged(notebook);
  });
  signal.addEventListener("abort", () => window.clearTimeout(timer));
  keepPlaceholder(notebook, model.get("page_id"));
  if (model.get("figure_id")) later();
}

export default widget({ render });
