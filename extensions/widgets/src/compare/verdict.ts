// The sentence on a comparison, with its badge.

import { element } from "../element";
import { unbroken } from "../number_format";

/** The verdict as an element; `level` is a word such as "quiet" or "busy". Of a quiet machine the
 * sentence itself says so. */
export function verdictElement(sentence: string, badge: string, level: string): HTMLElement {
  const root = element("p", { class: "wb-notice wb-verdict", role: "note" });
  root.dataset["level"] = level;
  if (badge && level !== "quiet") root.append(element("span", { class: "wb-badge" }, badge), " ");
  root.append(unbroken(sentence));
  return root;
}
