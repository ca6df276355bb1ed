// One graph as the kernel sends it: see workbench/graph_view/formats/binary.py for the format.

export const MADE_BY = ["export", "loss", "rewrite", "fusion", "gradient", "update", "lora"] as const;
export type MadeBy = (typeof MADE_BY)[number];
export const KINDS = ["operator", "input", "output"] as const;
export type Kind = (typeof KINDS)[number];

/**
* An item that is drawn as one box: a node by its position, a group by the negative of its position. The root is
 * the group 0, which is no item.
 */
export type Item = number;

interface Header {
  key: string;
  title: string;
  notices: string[];
  names: string[];
  values: string[];
  groups: string[];
  paths: string[];
  ops: string[];
  layers: string[];
  notes: string[];
  types: string[];
  arrays: [string, number][];
}

/** Inflates what the kernel compressed. */
export async function inflated(data: DataView): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

export class GraphData {
  readonly key: string;
  readonly title: string;
  readonly notices: string[];
  /** Of nodes. */
  readonly names: string[];
  readonly valueNames: string[];
  readonly groupLabels: string[];
  readonly groupPaths: string[];
  readonly groupParents: Int32Array;
  readonly groupOf: Int32Array;
  /** Groups and nodes of each group, in the order of the graph. */
  readonly children: Item[][];
  /** Operators in each group, those of inner groups included. */
  readonly sizes: Int32Array;
  private groupMarks: Int32Array | null = null;
  /** Edges between nodes, one for each pair. */
  readonly edgeFrom: Int32Array;
  readonly edgeTo: Int32Array;
  private readonly header: Header;
  private readonly arrays: Record<string, Int32Array> = {};

  constructor(buffer: ArrayBuffer) {
    const size = new DataView(buffer).getUint32(0, true);
    this.header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size))) as Header;
    let place = Math.ceil((4 + size) / 4) * 4;
    for (const [name, length] of this.header.arrays) {
      this.arrays[name] = new Int32Array(buffer, place, length);
      place += 4 * length;
    }
    const header = this.header;
    this.key = header.key;
    this.title = header.title;
    this.notices = header.notices;
    this.names = header.names;
    this.valueNames = header.values;
    this.groupLabels = header.groups;
    this.groupPaths = header.paths;
    this.groupParents = this.array("group_parent");
    this.groupOf = this.array("node_group");
    [this.edgeFrom, this.edgeTo] = this.edges();
    this.children = this.childrenOfGroups();
    this.sizes = new Int32Array(this.groupLabels.length);
    const kinds = this.array("node_kind");
    this.groupOf.forEach((group, node) => (this.sizes[group]! += kinds[node] === 0 ? 1 : 0));
    for (let group = this.sizes.length - 1; group > 0; group--) {
      this.sizes[this.groupParents[group]!]! += this.sizes[group]!;
    }
  }

  /** The stages that created operators of a group, those of inner groups included; the export is not named. */
  marksIn(group: number): MadeBy[] {
    this.groupMarks ??= this.marksOfGroups();
    return MADE_BY.filter((made, index) => made !== "export" && (this.groupMarks![group]! >> index) & 1);
  }

  private marksOfGroups(): Int32Array {
    const [kinds, made] = [this.array("node_kind"), this.array("node_made_by")];
    const marks = new Int32Array(this.groupLabels.length);
    this.groupOf.forEach((group, node) => (marks[group]! |= kinds[node] === 0 ? 1 << made[node]! : 0));
    for (let group = marks.length - 1; group > 0; group--) marks[this.groupParents[group]!]! |= marks[group]!;
    return marks;
  }

  get nodeCount(): number {
    return this.names.length;
  }

  get operatorCount(): number {
    return this.sizes[0] ?? 0;
  }

  op(node: number): string {
    return this.header.ops[this.array("node_op")[node]!]!;
  }

  layer(node: number): string {
    return this.header.layers[this.array("node_layer")[node]!]!;
  }

  note(node: number): string {
    return this.header.notes[this.array("node_note")[node]!]!;
  }

  kind(node: number): Kind {
    return KINDS[this.array("node_kind")[node]!]!;
  }

  madeBy(node: number): MadeBy {
    return MADE_BY[this.array("node_made_by")[node]!]!;
  }

  inputs(node: number): Int32Array {
    return this.list("inputs", node);
  }

  outputs(node: number): Int32Array {
    return this.list("outputs", node);
  }

  /** Positions in the forward graph of the nodes that this one replaces. */
  origins(node: number): Int32Array {
    return this.list("origins", node);
  }

  valueType(value: number): string {
    return this.header.types[this.array("value_type")[value]!]!;
  }

  /** The group around an item. */
  around(item: Item): number {
    return item < 0 ? this.groupParents[-item]! : this.groupOf[item]!;
  }

  label(item: Item): string {
    return item < 0 ? this.groupLabels[-item]! : this.op(item);
  }

  private array(name: string): Int32Array {
    return this.arrays[name]!;
  }

  private list(name: string, index: number): Int32Array {
    const starts = this.array(`${name}_start`);
    return this.array(name).subarray(starts[index]!, starts[index + 1]!);
  }

  private edges(): [Int32Array, Int32Array] {
    const makers = new Int32Array(this.valueNames.length).fill(-1);
    for (let node = 0; node < this.nodeCount; node++) {
      for (const value of this.outputs(node)) if (value >= 0) makers[value] = node;
    }
    const from: number[] = [];
    const to: number[] = [];
    for (let node = 0; node < this.nodeCount; node++) {
      const seen = new Set<number>();
      for (const value of this.inputs(node)) {
        const maker = value >= 0 ? makers[value]! : -1;
        if (maker < 0 || maker === node || seen.has(maker)) continue;
        seen.add(maker);
        from.push(maker);
        to.push(node);
      }
    }
    return [Int32Array.from(from), Int32Array.from(to)];
  }

  /** The mean position of the operators of each group: inputs and outputs, last in the list, stand at both ends. */
  private middles(): Float64Array {
    const sums = new Float64Array(this.groupLabels.length);
    const counts = new Float64Array(this.groupLabels.length);
    this.groupOf.forEach((group, node) => {
      if (this.kind(node) !== "operator") return;
      sums[group]! += node;
      counts[group]! += 1;
    });
    for (let group = sums.length - 1; group > 0; group--) {
      sums[this.groupParents[group]!]! += sums[group]!;
      counts[this.groupParents[group]!]! += counts[group]!;
    }
    return sums.map((sum, group) => sum / Math.max(1, counts[group]!));
  }

  private childrenOfGroups(): Item[][] {
    const children: Item[][] = this.groupLabels.map(() => []);
    const placed = new Uint8Array(this.groupLabels.length);
    placed[0] = 1;
    const place = (group: number): void => {
      if (placed[group]) return;
      placed[group] = 1;
      place(this.groupParents[group]!);
      children[this.groupParents[group]!]!.push(-group);
    };
    // Inputs come last in the list and first in the graph.
    const order = [...this.names.keys()];
    const inputs = order.filter((node) => this.kind(node) === "input");
    const others = order.filter((node) => this.kind(node) !== "input");
    for (const node of [...inputs, ...others]) {
      place(this.groupOf[node]!);
      children[this.groupOf[node]!]!.push(node);
    }
    // A group is placed where most of it is: a gradient may have prepared something early on.
    const middle = this.middles();
    const rankOf = (item: Item) => (item < 0 ? middle[-item]! : this.kind(item) === "input" ? -1 : item);
    for (const items of children) items.sort((a, b) => rankOf(a) - rankOf(b));
    return children;
  }
}
