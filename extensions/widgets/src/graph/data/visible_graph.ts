// The visible part of a graph while some of its groups are open.

import type { GraphData, Item } from "./graph_data";

/** An edge between two children of one open group, and the number of edges that it combines. */
export interface ChildEdge {
  from: Item;
  to: Item;
  count: number;
}

export class VisibleGraph {
  /** Whether each group is open and everything around it too. The root always is. */
  private readonly shown: Uint8Array;
  /** For each group the closed group that hides it, or 0. */
  private readonly hiddenBy: Int32Array;
  /** Edges between the children of each open group. */
  readonly edges = new Map<number, ChildEdge[]>();
  private readonly after = new Map<Item, Item[]>();
  private readonly before = new Map<Item, Item[]>();

  constructor(
    readonly data: GraphData,
    open: ReadonlySet<number>,
  ) {
    const count = data.groupLabels.length;
    this.shown = new Uint8Array(count);
    this.hiddenBy = new Int32Array(count);
    this.shown[0] = 1;
    for (let group = 1; group < count; group++) {
      const parent = data.groupParents[group]!;
      if (this.hiddenBy[parent]) this.hiddenBy[group] = this.hiddenBy[parent]!;
      else if (open.has(group)) this.shown[group] = 1;
      else this.hiddenBy[group] = group;
    }
    this.findEdges();
  }

  isOpen(group: number): boolean {
    return this.shown[group] === 1;
  }

  /** The box that represents an item: itself, or the closed group that hides it. */
  boxOf(item: Item): Item {
    const hidden = this.hiddenBy[item < 0 ? -item : this.data.groupOf[item]!]!;
    return hidden ? -hidden : item;
  }

  /** Boxes that read outputs of a box. */
  successors(item: Item): Item[] {
    return this.after.get(item) ?? [];
  }

  predecessors(item: Item): Item[] {
    return this.before.get(item) ?? [];
  }

  /** Everything that is visible, in the order of the graph: open groups before what is in them. */
  *items(group = 0): Generator<{ item: Item; level: number }> {
    const waiting: { item: Item; level: number }[] = [];
    const push = (around: number, level: number) => {
      const children = this.data.children[around]!;
      for (let place = children.length - 1; place >= 0; place--) waiting.push({ item: children[place]!, level });
    };
    push(group, 1);
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      yield next;
      if (next.item < 0 && this.isOpen(-next.item)) push(-next.item, next.level + 1);
    }
  }

  private findEdges(): void {
    const { data } = this;
    const counted = new Map<number, Map<string, ChildEdge>>();
    const linked = new Set<string>();
    for (let edge = 0; edge < data.edgeFrom.length; edge++) {
      const from = this.boxOf(data.edgeFrom[edge]!);
      const to = this.boxOf(data.edgeTo[edge]!);
      if (from === to) continue;
      const link = `${from} ${to}`;
      if (!linked.has(link)) {
        linked.add(link);
        push(this.after, from, to);
        push(this.before, to, from);
      }
      const [group, first, second] = this.meeting(from, to);
      const key = `${first} ${second}`;
      let within = counted.get(group);
      if (!within) counted.set(group, (within = new Map()));
      const found = within.get(key);
      if (found) found.count += 1;
      else within.set(key, { from: first, to: second, count: 1 });
    }
    for (const [group, edges] of counted) this.edges.set(group, [...edges.values()]);
  }

  /** The innermost group around both items, and the children of it that hold them. */
  private meeting(first: Item, second: Item): [number, Item, Item] {
    let [a, b] = [first, second];
    let [depthA, depthB] = [this.depth(a), this.depth(b)];
    while (depthA > depthB) {
      a = -this.data.around(a);
      depthA -= 1;
    }
    while (depthB > depthA) {
      b = -this.data.around(b);
      depthB -= 1;
    }
    while (this.data.around(a) !== this.data.around(b)) {
      a = -this.data.around(a);
      b = -this.data.around(b);
    }
    return [this.data.around(a), a, b];
  }

  private depth(item: Item): number {
    let depth = 0;
    for (let group = this.data.around(item); group > 0; group = this.data.groupParents[group]!) depth += 1;
    return depth;
  }
}

function push(map: Map<Item, Item[]>, key: Item, item: Item): void {
  const found = map.get(key);
  if (found) found.push(item);
  else map.set(key, [item]);
}
