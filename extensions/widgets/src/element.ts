// Builds DOM elements in one expression each.

type Child = Node | string;

/** A new element with attributes and children; text is always set as text, never as HTML. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

let count = 0;

/** An id that no other element of the page has. */
export function freshId(purpose: string): string {
  count += 1;
  return `wb-${purpose}-${count}-${Math.random().toString(36).slice(2, 8)}`;
}
