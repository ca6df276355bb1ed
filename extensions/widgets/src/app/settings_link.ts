// Leads to the settings of a step where they stand below its results, as in a narrow page.

import { element } from "../element";

/** A button among the results that leads to the settings; the style sheet shows it where these stand below. */
export function settingsLink(results: HTMLElement): HTMLButtonElement {
  const button = element("button", { type: "button", class: "wb-toggle wb-to-settings" }, "Settings ↓");
  button.addEventListener("click", () => {
    const settings = results.closest(".wb-columns")?.querySelector<HTMLElement>(":scope > .wb-side");
    settings?.scrollIntoView({ block: "start" });
    settings?.querySelector<HTMLElement>("input, select")?.focus({ preventScroll: true });
  });
  return button;
}

const REFUSED = ':is(.wb-settings-form, .wb-ortmodule-form) [aria-invalid="true"]';

/** Whether a field of a step is refused. */
export function hasRefusedField(step: Element | null | undefined): boolean {
  return step?.querySelector(REFUSED) != null;
}

/** Shows the first field of a step that is refused, unfolded, and gives it the focus; nothing where none is. */
export function showRefusedField(step: Element | null | undefined): void {
  const field = step?.querySelector<HTMLElement>(REFUSED);
  if (!field) return;
  for (let folded = field.closest("details"); folded; folded = folded.parentElement?.closest("details") ?? null) folded.open = true;
  field.focus();
  field.closest(".wb-setting")?.scrollIntoView({ block: "nearest" }); // with what is wrong, below it
}
