// Where a page is scrolled to, and back to its beginning.

/** Whether the head of a page is out of view, or kept in view over what was scrolled beneath it. */
export function isScrolled(page: HTMLElement): boolean {
  const { top } = page.getBoundingClientRect();
  const bar = page.querySelector(".wb-top");
  return page.scrollTop > 0 || top < 0 || top >= window.innerHeight || (bar !== null && bar.getBoundingClientRect().top > top + 1);
}

/** Whether the results of a step begin above or below what is seen. */
export function isOutOfView(results: Element | null | undefined): boolean {
  if (!results) return false;
  const { top } = results.getBoundingClientRect();
  const bar = results.closest(".wb-page")?.querySelector(".wb-top");
  return top < (bar?.getBoundingClientRect().bottom ?? 0) - 1 || top >= window.innerHeight;
}

/** Shows the beginning of a page. */
export function toTop(page: HTMLElement): void {
  page.scrollIntoView({ block: "start" });
  page.scrollTop = 0; // in a presentation it is the page that scrolls
}
