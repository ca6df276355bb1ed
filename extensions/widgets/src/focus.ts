// Keeps the keyboard focus where parts of the page are made anew, and on buttons that cannot be pressed.

const FOCUSABLE = "button, input, select, textarea, summary, [tabindex]";

/**
 * Runs `change`, which makes elements of `root` anew. The focus stays on what has it, or goes to the element of the
 * same `data-key`, else of the same name; where there is none, to `otherwise`.
 */
export function keepFocus(
  root: HTMLElement,
  change: () => void,
  otherwise: () => HTMLElement | null | undefined = () => null,
): void {
  const focused = document.activeElement;
  if (!(focused instanceof HTMLElement) || !root.contains(focused)) return change();
  const name = nameOf(focused);
  change();
  const same = isShown(focused) ? focused : [...root.querySelectorAll<HTMLElement>(FOCUSABLE)].find((each) => isShown(each) && nameOf(each) === name);
  const next = same ?? otherwise();
  if (next && next !== document.activeElement) next.focus({ preventScroll: true });
}

/** Lets a button be pressed or not. It keeps its focus, which one that is `disabled` loses. */
export function setUsable(button: HTMLButtonElement, usable: boolean): void {
  if (isUsable(button) !== usable) button.setAttribute("aria-disabled", String(!usable));
}

/** Calls `action` when the button is pressed while it can be. */
export function onPress(button: HTMLButtonElement, action: () => void): void {
  button.addEventListener("click", () => {
    if (isUsable(button)) action();
  });
}

function isUsable(button: HTMLButtonElement): boolean {
  return button.getAttribute("aria-disabled") !== "true";
}

function nameOf(of: HTMLElement): string {
  return `${of.tagName} ${of.dataset["key"] ?? of.getAttribute("aria-label") ?? of.textContent}`;
}

function isShown(of: HTMLElement): boolean {
  return of.isConnected && of.closest("[hidden]") === null;
}
