// The titles of the runs that are drawn, in one line. What a title shares with the one before it is
// said once: the model, where all have the same, and the day.

/** Between model, engine and start, as in `run_title` of run_title.py. */
const BETWEEN = " · ";

/** digits-mlp · pytorch · 23 Nov 22:08:25; ondevice · 22:08:35. Titles of another form are whole. */
export function runNames(titles: string[]): string {
  const parts = titles.map((title) => title.split(BETWEEN));
  const model = parts[0]?.[0];
  if (!parts.every((each) => each.length === 3 && each[0] === model)) return titles.join("; ");
  let before = "";
  const names = parts.map(([, engine = "", start = ""], index) => {
    const at = start.lastIndexOf(" ") + 1;
    const sameDay = start.slice(0, at) === before;
    before = start.slice(0, at);
    const shown = [engine, sameDay ? start.slice(at) : start];
    return (index === 0 ? [model, ...shown] : shown).join(BETWEEN);
  });
  return names.join("; ");
}
