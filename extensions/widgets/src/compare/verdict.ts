// The sentence on a comparison, with its badge.

import { element } from "../element";
import { unbroken } from "../number_format";

/** The verdict as an element; `level` is a word such as "quiet" or "busy". Of a quiet machine the
 * sentence itself says so. The badge stands before `line`, and those above it are not in doubt. */
export function verdictElement(sentence: string, badge: string, level: string, line = 0): HTMLElement {
  const root = element("p", { class: "wb-notice wb-verdict", role: "note" });
  root.dataset["level"] = line > 0 ? "none" : level;
  const lines = sentence.split("\n");
  const before = lines.slice(0, line).map((each) => `${each}\n`);
  root.append(unbroken(before.join("")));
  if (badge && level !== "quiet") root.append(element("span", { class: "wb-badge", "data-level": level }, badge), " ");
  root.append(unbroken(lines.slice(line).join("\n")));
  return root;
}
