// A presentation: the page alone fills the window, in larger type (page.css).
//
// It is a popover, which the browser draws over everything else: JupyterLab clips what is in a notebook.

/** Class of the dialogs of JupyterLab, which would be hidden behind the page and wait for an answer. */
const DIALOG = "jp-Dialog";

export class Presentation {
  /** What to undo, last first; empty: the page is in its place. */
  private undo: (() => void)[] = [];

  /** `onLeave` is called when a user, or a dialog of JupyterLab, ends it. */
  constructor(
    private readonly page: HTMLElement,
    private readonly onLeave: () => void,
  ) {}

  /** Fills the window, or takes the page back to its place in the notebook. */
  show(fills: boolean): void {
    if (fills === this.undo.length > 0) return;
    if (fills) this.enter();
    else this.leave();
  }

  private enter(): void {
    const { page } = this;
    if (!("showPopover" in page)) return; // an older browser has the larger type alone
    if (document.querySelector(`.${DIALOG}`)) return this.onLeave();
    const focused = document.activeElement;
    this.keepPlace();
    this.disableRest();
    page.popover = "manual";
    page.showPopover();
    page.tabIndex = -1; // a click beside a button does not give the focus to the notebook
    this.undo.push(() => {
      page.removeAttribute("popover");
      page.removeAttribute("tabindex");
    });
    this.keepFocus(focused);
    this.listen();
  }

  private leave(): void {
    const focused = document.activeElement;
    for (const each of this.undo.splice(0).reverse()) each();
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  }

  /** The notebook does not move meanwhile. */
  private keepPlace(): void {
    const place = this.page.parentElement;
    if (!place) return;
    place.style.minHeight = `${this.page.getBoundingClientRect().height}px`;
    this.undo.push(() => place.style.removeProperty("min-height"));
  }

  /** What is behind the page gets neither the focus nor keys. */
  private disableRest(): void {
    for (let at = this.page; at.parentElement && at !== document.body; at = at.parentElement) {
      for (const other of at.parentElement.children) {
        if (other === at || !(other instanceof HTMLElement) || other.inert) continue;
        other.inert = true;
        this.undo.push(() => (other.inert = false));
      }
    }
  }

  /** What is around the page has no focus either: JupyterLab gives it to a cell, as after a reload. */
  private keepFocus(focused: Element | null): void {
    const { page } = this;
    const isBehind = (node: Element | null) => node === null || (node !== page && node.contains(page));
    if (isBehind(focused)) page.focus({ preventScroll: true });
    else (focused as HTMLElement).focus({ preventScroll: true });
    let tabbing = false;
    const onFocus = () => {
      if (!tabbing && isBehind(document.activeElement)) page.focus({ preventScroll: true });
    };
    // The Tab key goes round in the page; where the browser has a bar of its own, by way of that.
    const onTab = ({ key, shiftKey }: KeyboardEvent) => {
      if (key !== "Tab") return;
      tabbing = true;
      const from = document.activeElement;
      setTimeout(() => {
        tabbing = false;
        const at = document.activeElement;
        const leaves = isBehind(at) || (at === page && from !== page) || (shiftKey && from === page);
        if (document.hasFocus() && leaves) focusEnd(page, shiftKey);
      });
    };
    document.addEventListener("focusin", onFocus);
    document.addEventListener("keydown", onTab);
    this.undo.push(() => {
      document.removeEventListener("focusin", onFocus);
      document.removeEventListener("keydown", onTab);
    });
  }

  private listen(): void {
    const onKey = (event: KeyboardEvent) => {
      const { target } = event;
      // A list that is open, a selection, or a search, which the browser clears, has it first.
      const clears = target instanceof HTMLInputElement && target.type === "search" && target.value !== "";
      if (event.key === "Escape" && !event.defaultPrevented && !clears) this.onLeave();
    };
    // Without it JupyterLab opens its menu, behind the page.
    const onMenu = (event: Event) => event.stopPropagation();
    const added = new MutationObserver((changes) => {
      const nodes = changes.flatMap((change) => [...change.addedNodes]);
      if (nodes.some((node) => node instanceof Element && node.classList.contains(DIALOG))) this.onLeave();
    });
    document.addEventListener("keydown", onKey);
    this.page.addEventListener("contextmenu", onMenu);
    added.observe(document.body, { childList: true });
    this.undo.push(() => {
      document.removeEventListener("keydown", onKey);
      this.page.removeEventListener("contextmenu", onMenu);
      added.disconnect();
    });
  }
}

/** Gives the focus to the first stop of the Tab key in the page, or to the last. */
function focusEnd(page: HTMLElement, last: boolean): void {
  const all = page.querySelectorAll<HTMLElement>("a[href], button, input, select, textarea, summary, [tabindex]");
  const stops = [...all].filter(({ tabIndex }) => tabIndex >= 0);
  for (const stop of last ? stops.reverse() : stops) {
    stop.focus();
    if (document.activeElement === stop) return; // what is disabled, or in what is folded, takes none
  }
}
