// The titles of the runs that are drawn, in one line. What a title shares with the one before it is
// said once: the model, where all have the same, and the day.

/** Between model, engine and start, as in `run_title` of run_title.py. */
const BETWEEN = " · ";

/**
 * digits-mlp · pytorch · 23 Nov 22:08:25; ondevice · 22:08:35. Titles of another form are whole. A curve has its label in
 * place of the engine.
 */
export function runNames(curves: readonly { label: string; detail: string }[]): string {
  const parts = curves.map(({ detail }) => detail.split(BETWEEN));
  const model = parts[0]?.[0];
  if (curves.length < 2 || !parts.every((each) => each.length === 3 && each[0] === model)) return curves.map(({ detail }) => detail).join("; ");
  let before = "";
  const names = parts.map(([, , start = ""], index) => {
    const at = start.lastIndexOf(" ") + 1;
    const sameDay = start.slice(0, at) === before;
    before = start.slice(0, at);
    const { label } = curves[index]!;
    const clock = BETWEEN + start.slice(at);
    // Runs that differ in nothing else have it in their labels.
    const named = label.endsWith(clock) ? label.slice(0, -clock.length) : label;
    const shown = [named, sameDay ? start.slice(at) : start];
    return (index === 0 ? [model, ...shown] : shown).join(BETWEEN);
  });
  return names.join("; ");
}
