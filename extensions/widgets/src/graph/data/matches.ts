// Matches of a search in the shown graphs, and the current one.

import type { GraphData, Item } from "./graph_data";
import { SearchIndex } from "./search";

interface Match {
  key: string;
  item: Item;
}

export class Matches {
  private readonly indexes = new Map<string, SearchIndex>();
  private found: Match[] = [];
  private at = -1;
  private query = "";

  add(key: string, data: GraphData): void {
    this.indexes.set(key, new SearchIndex(data));
  }

  clear(): void {
    this.indexes.clear();
  }

  /** Starts a new search in some graphs; returns what is found in each. */
  begin(query: string, keys: readonly string[]): Map<string, readonly Item[]> {
    const found = new Map(keys.map((key) => [key, this.indexes.get(key)?.find(query) ?? []]));
    this.query = query.trim();
    this.found = [...found].flatMap(([key, items]) => items.map((item) => ({ key, item })));
    this.at = -1;
    return found;
  }

  /** The next match, forwards or backwards, around the end; null where there is none. */
  go(by: number): Match | null {
    const count = this.found.length;
    if (count === 0) return null;
    this.at = this.at < 0 ? (by > 0 ? 0 : count - 1) : (this.at + by + count) % count;
    return this.found[this.at] ?? null;
  }

  /** Whether something was searched for, and nothing is found. */
  get none(): boolean {
    return this.query !== "" && this.found.length === 0;
  }

  /** Number of matches and, while one is selected, its position. */
  get text(): string {
    const total = this.found.length.toLocaleString("en");
    if (this.at >= 0) return `${(this.at + 1).toLocaleString("en")} of ${total}`;
    if (!this.query) return "";
    return `${total} ${this.found.length === 1 ? "match" : "matches"}`;
  }
}
