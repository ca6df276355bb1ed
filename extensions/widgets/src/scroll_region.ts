// A region that scrolls must be focusable; one that does not scroll would be a useless tab stop.

/** Makes `el` a named stop of the Tab key for as long as its content is larger than it. */
export function followOverflow(el: HTMLElement, name: string, signal: AbortSignal): void {
  const follow = () => {
    const scrolls = el.scrollWidth > el.clientWidth + 1 || el.scrollHeight > el.clientHeight + 1;
    if (scrolls === el.hasAttribute("tabindex")) return;
    if (scrolls) {
      el.tabIndex = 0;
      el.setAttribute("role", "region");
      el.setAttribute("aria-label", name);
    } else {
      for (const attribute of ["tabindex", "role", "aria-label"]) el.removeAttribute(attribute);
    }
  };
  const resized = new ResizeObserver(follow);
  resized.observe(el);
  const changed = new MutationObserver(follow);
  changed.observe(el, { childList: true, subtree: true });
  signal.addEventListener("abort", () => {
    resized.disconnect();
    changed.disconnect();
  });
}
