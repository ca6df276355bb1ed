// Keys that are pressed in a page are not shortcuts of the notebook around it.

import { OWN_KEYS } from "../own_keys";

/** A page that fills the window. */
const PRESENTED = ".wb-page[popover]";

const GUARDED = Symbol.for("workbench.keys");

/**
 * Whether JupyterLab is to leave a key alone: a single one, of which A makes a cell and X cuts one,
 * and those that run the cell of the page or select all cells. Others, as Ctrl S, stay JupyterLab's.
 * While a page fills the window, saving alone does: whatever else opens or changes is not seen.
 */
function isOfThePage(event: KeyboardEvent): boolean {
  const command = event.ctrlKey || event.metaKey || event.altKey;
  const key = event.key.toLowerCase();
  const saves = key === "s" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  if (document.querySelector(PRESENTED)) return !saves;
  const at = event.target instanceof Element ? event.target : null;
  return at?.closest(".wb") != null && (!command || key === "enter" || key === "a");
}

/** Begins to guard them in this window; once is enough, for all views of all bundles. */
export function guardKeys(): void {
  const host = window as unknown as Record<symbol, boolean>;
  if (host[GUARDED]) return;
  host[GUARDED] = true;
  // JupyterLab listens at the document, which the event reaches later.
  window.addEventListener(
    "keydown",
    (event) => {
      const at = event.target;
      if (!(at instanceof Element) || !isOfThePage(event) || at.hasAttribute(OWN_KEYS)) return;
      // The element itself: shortcuts of what has the focus are found before those of what is around it.
      at.setAttribute(OWN_KEYS, "");
      setTimeout(() => at.removeAttribute(OWN_KEYS)); // once all have heard of the key
    },
    { capture: true },
  );
}
