// Which runs are selected, and which one the keyboard is at. Both are ids: rows come and go.

export class Selection {
  readonly ids = new Set<string>();
  /** The row that the keyboard is at; null before the first. */
  active: string | null = null;
  /** Where a range begins that Shift extends. */
  private anchor: string | null = null;

  /** Replaces the selection by one row. */
  only(id: string): void {
    this.ids.clear();
    this.ids.add(id);
    this.active = this.anchor = id;
  }

  toggle(id: string): void {
    if (!this.ids.delete(id)) this.ids.add(id);
    this.active = this.anchor = id;
  }

  /** Moves the keyboard without selecting. */
  moveTo(id: string): void {
    this.active = this.anchor = id;
  }

  /** Selects from where the range began up to `id`, in the order that is shown. */
  extendTo(id: string, shown: string[]): void {
    const from = shown.indexOf(this.anchor ?? this.active ?? id);
    const to = shown.indexOf(id);
    if (to < 0) return;
    const start = from < 0 ? to : from;
    this.ids.clear();
    for (const each of shown.slice(Math.min(start, to), Math.max(start, to) + 1)) this.ids.add(each);
    this.anchor = shown[start] as string;
    this.active = id;
  }

  all(shown: string[]): void {
    for (const id of shown) this.ids.add(id);
  }

  clear(): void {
    this.ids.clear();
  }

  /** Takes over a selection that was made elsewhere. */
  replace(ids: string[]): void {
    this.ids.clear();
    for (const id of ids) this.ids.add(id);
    this.active = ids[0] ?? this.active;
  }

  /**
   * Forgets rows that exist no more. The keyboard goes to the row that has taken the place of the
   * one it was at.
   */
  retain(exists: (id: string) => boolean, before: string[]): void {
    for (const id of [...this.ids]) if (!exists(id)) this.ids.delete(id);
    if (this.active !== null && !exists(this.active)) {
      const place = before.indexOf(this.active);
      const after = before.slice(place + 1).find(exists);
      this.active = after ?? before.slice(0, Math.max(0, place)).reverse().find(exists) ?? null;
    }
    if (this.anchor !== null && !exists(this.anchor)) this.anchor = this.active;
  }
}
