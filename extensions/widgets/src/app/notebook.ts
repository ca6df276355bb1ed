// The little of JupyterLab's notebook document that the page needs. It is reached through the
// widget manager; other front ends have no such document, and then nothing of this is used.

const VIEW = "application/vnd.jupyter.widget-view+json";
/** Key of the output's metadata under which a figure of this page is known again. */
const MARK = "workbench_figure";

export interface Output {
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
    cells?: { length: number; get(index: number): { id?: string; outputs?: Outputs } };
    dirty: boolean;
    readOnly: boolean;
    getMetadata?(key: string): unknown;
    setMetadata?(key: string, value: unknown): void;
    sharedModel?: { insertCell(index: number, cell: object): unknown };
  };
  /** As the server knows it. */
  path?: string;
  contentsModel?: { writable?: boolean; last_modified?: string } | null;
  save?(): Promise<void>;
}

/** Fills the outputs that follow the page's view, in their order, unless they are filled already. */
export function keepOutputs(notebook: Notebook, pageId: string, figureId: string, kept: readonly Output[]): void {
  for (const outputs of allOutputs(notebook)) {
    let seen = false;
    let part = 0;
    for (let index = 0; index < outputs.length; index += 1) {
      const { data, metadata } = outputs.get(index);
      const view = data?.[VIEW] as { model_id?: string } | undefined;
      seen ||= view?.model_id === pageId;
      if (!seen || !metadata || !(MARK in metadata)) continue;
      const output = kept[part];
      part += 1;
      if (output && metadata[MARK] !== figureId) outputs.set(index, { output_type: "display_data", ...output });
    }
  }
}

/** Ids of the widgets that stand in the outputs of the notebook. */
export function shownWidgets(notebook: Notebook): Set<string> {
  const ids = new Set<string>();
  for (const outputs of allOutputs(notebook)) {
    for (let index = 0; index < outputs.length; index += 1) {
      const view = outputs.get(index).data?.[VIEW] as { model_id?: string } | undefined;
      if (view?.model_id) ids.add(view.model_id);
    }
  }
  return ids;
}

const saves = new WeakMap<Notebook, Promise<void>>();

/** Difference of two times of a file, in milliseconds, from which JupyterLab asks before it overwrites it. */
const MARGIN_MS = 500;

/**
 * Saves the notebook as JupyterLab's own autosave would, after the saves asked for before: of two
 * that overlap the second finds a file newer than it knows, and asks whether to overwrite it. A file
 * that something else changed is not saved: the question would cover the buttons of a run.
 */
export function saveIfChanged(notebook: Notebook): Promise<void> {
  const before = saves.get(notebook) ?? Promise.resolve();
  const saved = before.then(async () => {
    const { model, contentsModel } = notebook;
    if (!model?.dirty || model.readOnly || contentsModel?.writable === false) return;
    if (await isNewerOnDisk(notebook)) return;
    await notebook.save?.();
  });
  // A failed save, which JupyterLab has reported, does not prevent the next one.
  const settled = saved.catch(() => undefined);
  saves.set(notebook, settled);
  return settled;
}

/** Whether the file was written since this page loaded or saved it; false where that is not known. */
async function isNewerOnDisk({ path, contentsModel }: Notebook): Promise<boolean> {
  const known = Date.parse(contentsModel?.last_modified ?? "");
  const config = document.getElementById("jupyter-config-data")?.textContent;
  if (!path || Number.isNaN(known) || !config) return false;
  try {
    const { baseUrl } = JSON.parse(config) as { baseUrl: string };
    const file = path.split("/").map(encodeURIComponent).join("/");
    const answer = await fetch(`${baseUrl}api/contents/${file}?content=0`, { cache: "no-store" });
    const { last_modified } = (await answer.json()) as { last_modified?: string };
    return Date.parse(last_modified ?? "") - known > MARGIN_MS;
  } catch {
    return false; // JupyterLab asks the server again, and reports what it finds
  }
}

/** Ids of the cells that were inserted since the page was loaded: the next one stands below them. */
const inserted = new Set<string>();

/**
 * Inserts a code cell below the one whose output shows the widget, and below those inserted there
 * before. Returns how many cells below it stands; 0 where no cell shows the widget.
 */
export function insertCellBelow(notebook: Notebook, pageId: string, source: string): number {
  const cells = notebook.model?.cells;
  for (let index = 0; cells && index < cells.length; index += 1) {
    const { outputs } = cells.get(index);
    for (let each = 0; outputs && each < outputs.length; each += 1) {
      const view = outputs.get(each).data?.[VIEW] as { model_id?: string } | undefined;
      if (view?.model_id !== pageId) continue;
      // Trusted as one that JupyterLab inserts: a cell that is not marks the whole notebook.
      const cell = { cell_type: "code", source: source.trimEnd(), metadata: { trusted: true } };
      let at = index + 1;
      while (at < cells.length && inserted.has(cells.get(at).id ?? "")) at += 1;
      notebook.model?.sharedModel?.insertCell(at, cell);
      const id = cells.get(at).id;
      if (id) inserted.add(id);
      return at - index;
    }
  }
  return 0;
}

/** For so long, in milliseconds, a cell that was inserted is waited for: the notebook draws it. */
const DRAWN_MS = 1000;

/**
 * Gives the focus to the editor of the cell that stands `below` cells below `cell`, once it is drawn
 * after those that are `known`: JupyterLab then selects it, so that Shift+Enter runs it.
 */
export function focusInserted(cell: Element, below: number, known: readonly Element[]): void {
  const until = performance.now() + DRAWN_MS;
  const look = () => {
    const siblings = [...(cell.parentElement?.children ?? [])];
    const found = siblings[siblings.indexOf(cell) + below];
    const editor = found?.querySelector<HTMLElement>(".jp-InputArea-editor [contenteditable]");
    if (found && editor && !known.includes(found)) editor.focus();
    else if (performance.now() < until) requestAnimationFrame(look);
  };
  look();
}

function* allOutputs(notebook: Notebook): Generator<Outputs> {
  const cells = notebook.model?.cells;
  for (let index = 0; cells && index < cells.length; index += 1) {
    const { outputs } = cells.get(index);
    if (outputs) yield outputs;
  }
}
