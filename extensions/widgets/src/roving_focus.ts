// One stop of the Tab key for a row of buttons, in which the arrows move, as of a toolbar.

const MOVES: Record<string, (at: number, count: number) => number> = {
  ArrowRight: (at, count) => (at + 1) % count,
  ArrowLeft: (at, count) => (at + count - 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** Makes the buttons of `bar` one stop of the Tab key: that which had the focus last, else the first. */
export function roveFocus(bar: HTMLElement): void {
  const buttons = () => [...bar.querySelectorAll("button")].filter((each) => !each.hidden);
  const stopAt = (stop: HTMLButtonElement | undefined) => {
    for (const each of bar.querySelectorAll("button")) each.tabIndex = each === stop ? 0 : -1;
  };
  stopAt(buttons()[0]);
  bar.addEventListener("focusin", (event) => stopAt((event.target as HTMLElement).closest("button") ?? buttons()[0]));
  bar.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    const all = buttons();
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    if (!move || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    all[move(at, all.length)]?.focus();
  });
}
