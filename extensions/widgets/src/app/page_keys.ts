// Keys that are pressed in a page are not shortcuts of the notebook around it.

import { OWN_KEYS } from "../own_keys";

/** A page that fills the window, beside whose widgets a click may go. */
const PRESENTED = ".wb-page[popover]";

const GUARDED = Symbol.for("workbench.keys");

/**
 * Whether JupyterLab is to leave a key alone: a single one, of which A makes a cell and X cuts one,
 * and those that run the cell of the page or select all cells. Others, as Ctrl S, stay JupyterLab's.
 */
function isOfThePage(event: KeyboardEvent): boolean {
  const command = event.ctrlKey || event.metaKey || event.altKey;
  return !command || event.key === "Enter" || event.key.toLowerCase() === "a";
}

/** Begins to guard them in this window; once is enough, for all views of all bundles. */
export function guardKeys(): void {
  const host = window as unknown as Record<symbol, boolean>;
  if (host[GUARDED]) return;
  host[GUARDED] = true;
  const marked = new WeakSet<Element>();
  // JupyterLab listens at the document, which the event reaches later.
  window.addEventListener(
    "keydown",
    (event) => {
      const at = event.target instanceof Element ? event.target : null;
      if (at?.matches(PRESENTED)) {
        if (!isOfThePage(event)) return;
        // For this key alone: it is around all that has the focus later.
        at.setAttribute(OWN_KEYS, "");
        setTimeout(() => at.removeAttribute(OWN_KEYS));
        return;
      }
      if (!at?.closest(".wb")) return;
      // The element itself: shortcuts of what has the focus are found before those of what is around it.
      if (!isOfThePage(event)) {
        if (marked.delete(at)) at.removeAttribute(OWN_KEYS);
      } else if (!at.hasAttribute(OWN_KEYS)) {
        marked.add(at);
        at.setAttribute(OWN_KEYS, "");
      }
    },
    { capture: true },
  );
}
