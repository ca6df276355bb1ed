// Shown in a notebook in place of the page if there is no kernel; otherwise it would show an error.
//
// A notebook may hold the state of its widgets, which is used for those that no kernel knows. There
// the page is one sentence, under its own id; the static picture and table follow it.

import { type Notebook, shownWidgets } from "./notebook";

const STATE = "application/vnd.jupyter.widget-state+json";
/** By which a placeholder of ours is known again. */
const MARK = "workbench_placeholder";
const SENTENCE =
  "Run this cell to open the workbench. Its last result, if any, is shown below.";
/** The same of a part of it that is shown alone. */
const OF_A_VIEW = "Run this cell to open this view, which needs a kernel.";

interface Saved {
  model_module: string;
  model_module_version: string;
  model_name: string;
  state: Record<string, unknown>;
}

interface Metadata {
  [STATE]?: { version_major: number; version_minor: number; state: Record<string, Saved> };
}

/** Puts it there, and takes away those of pages that the notebook does not show any more. */
export function keepPlaceholder(notebook: Notebook, pageId: string, sentence = SENTENCE): void {
  const { model } = notebook;
  if (!model?.getMetadata || !model.setMetadata || model.readOnly) return;
  const metadata = (model.getMetadata("widgets") ?? {}) as Metadata;
  const saved = metadata[STATE]?.state ?? {};
  const shown = shownWidgets(notebook).add(pageId);
  const kept = Object.entries(saved).filter(([id, { state }]) => shown.has(id) || !(MARK in state));
  if (saved[pageId] && kept.length === Object.keys(saved).length) return;
  const placeholder: Saved = {
    model_module: "@jupyter-widgets/controls",
    model_module_version: "2.0.0",
    model_name: "HTMLModel",
    state: { value: sentence, [MARK]: true },
  };
  const state = { [pageId]: placeholder, ...Object.fromEntries(kept) };
  model.setMetadata("widgets", { ...metadata, [STATE]: { version_major: 2, version_minor: 0, state } });
}

/** Puts one there for a view that is shown alone: the widget `pageId`; empty: it is a part of a page. */
export function keepViewPlaceholder(model: { widget_manager: unknown }, pageId: string): void {
  const notebook = (model.widget_manager as { context?: Notebook } | undefined)?.context;
  if (pageId && notebook?.model?.cells) keepPlaceholder(notebook, pageId, OF_A_VIEW);
}
