// The little of JupyterLab's notebook document that the page needs. It is reached through the
// widget manager; other front ends have no such document, and then nothing of this is used.

const VIEW = "application/vnd.jupyter.widget-view+json";
/** Key of the output's metadata under which a figure of this page is known again. */
const MARK = "workbench_figure";

interface Output {
  data?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}

interface Outputs {
  length: number;
  get(index: number): Output;
  set(index: number, output: object): void;
}

export interface Notebook {
  model?: {
    cells?: { length: number; get(index: number): { outputs?: Outputs } };
    dirty: boolean;
    readOnly: boolean;
  };
  contentsModel?: { writable?: boolean } | null;
  save?(): Promise<void>;
}

export interface Figure {
  pageId: string;
  figureId: string;
  png: string;
  text: string;
}

/** Puts the figure into the output that follows the page's view, unless it is there already. */
export function keepFigure(notebook: Notebook, figure: Figure): void {
  for (const outputs of allOutputs(notebook)) {
    let seen = false;
    for (let index = 0; index < outputs.length; index += 1) {
      const { data, metadata } = outputs.get(index);
      const view = data?.[VIEW] as { model_id?: string } | undefined;
      seen ||= view?.model_id === figure.pageId;
      if (!seen || !metadata || !(MARK in metadata)) continue;
      if (metadata[MARK] !== figure.figureId) {
        outputs.set(index, {
          output_type: "display_data",
          data: { "image/png": figure.png, "text/plain": figure.text },
          metadata: { [MARK]: figure.figureId },
        });
      }
    }
  }
}

/** Saves the notebook as JupyterLab's own autosave would. */
export async function saveIfChanged(notebook: Notebook): Promise<void> {
  const { model, contentsModel } = notebook;
  if (!model?.dirty || model.readOnly || contentsModel?.writable === false) return;
  await notebook.save?.();
}

function* allOutputs(notebook: Notebook): Generator<Outputs> {
  const cells = notebook.model?.cells;
  for (let index = 0; cells && index < cells.length; index += 1) {
    const { outputs } = cells.get(index);
    if (outputs) yield outputs;
  }
}
