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

/** Sets the text of an element without others in it. An equal one changes nothing, and a new one
 * the text node that is there: each change of the tree would make the browser style it again. */
export function setText(node: Node, text: string): void {
  const { firstChild } = node;
  if (firstChild instanceof Text && firstChild === node.lastChild && text) {
    if (firstChild.data !== text) firstChild.data = text;
  } else if (node.textContent !== text) node.textContent = text;
}

/** Sets an attribute that is new, for the same reason. */
export function setAttribute(node: Element, name: string, value: string): void {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

let count = 0;

/** An id that no other element of the page has. */
export function freshId(purpose: string): string {
  count += 1;
  return `wb-${purpose}-${count}-${Math.random().toString(36).slice(2, 8)}`;
}
