// Where everything visible stands: the layouts of the open groups put into each other.

import { counted } from "../../number_format";
import type { GraphData, Item } from "../data/graph_data";
import type { LayoutInput, LayoutResult, Point, Size } from "../layout/layout";
import { VisibleGraph } from "../data/visible_graph";

export interface Box extends Point, Size {
  item: Item;
  /** An open group, which holds other boxes. */
  open: boolean;
  depth: number;
}

export interface Line {
  from: Item;
  to: Item;
  points: Point[];
  /** Number of edges of the graph that it combines. */
  count: number;
}

export interface Scene extends Size {
  visible: VisibleGraph;
  /** Open groups before what is in them. */
  boxes: Box[];
  box: Map<Item, Box>;
  lines: Line[];
}

export const GROUP_HEAD = 28;
const PADDING = 14;
const NODE_HEIGHT = 40;
const END_HEIGHT = 26;
const GROUP_HEIGHT = 44;
const CHARACTER = 6.4;
const NARROWEST = 84;
const WIDEST = 190;

type Arrange = (input: LayoutInput, signal: AbortSignal) => Promise<LayoutResult | null>;

/** Lays out graphs as groups open and close, and remembers the layouts of groups that stay as they are. */
export class SceneMaker {
  private readonly layouts = new Map<string, LayoutResult>();

  constructor(
    private readonly data: GraphData,
    private readonly arrange: Arrange,
  ) {}

  /** The scene with those groups open, or null once `signal` aborts. */
  async make(open: ReadonlySet<number>, signal: AbortSignal): Promise<Scene | null> {
    const visible = new VisibleGraph(this.data, open);
    const layouts = new Map<number, LayoutResult>();
    if (!(await this.arrangeGroup(0, visible, layouts, signal))) return null;
    const root = layouts.get(0)!;
    const scene: Scene = { visible, boxes: [], box: new Map(), lines: [], width: root.width, height: root.height };
    this.place(0, { x: 0, y: 0 }, 0, visible, layouts, scene);
    return scene;
  }

  private async arrangeGroup(
    group: number,
    visible: VisibleGraph,
    layouts: Map<number, LayoutResult>,
    signal: AbortSignal,
  ): Promise<string | null> {
    const children = this.data.children[group]!;
    let state = `${group}(`;
    for (const item of children) {
      if (item >= 0 || !visible.isOpen(-item)) continue;
      const inner = await this.arrangeGroup(-item, visible, layouts, signal);
      if (inner === null) return null;
      state += inner;
    }
    state += ")";
    let layout = this.layouts.get(state);
    if (!layout) {
      const found = await this.arrange(this.input(group, children, visible, layouts), signal);
      if (!found) return null;
      this.layouts.set(state, (layout = found));
    }
    layouts.set(group, layout);
    return state;
  }

  private input(
    group: number,
    children: Item[],
    visible: VisibleGraph,
    layouts: Map<number, LayoutResult>,
  ): LayoutInput {
    const place = new Map(children.map((item, index) => [item, index]));
    const sizes = children.map((item) => {
      const inner = item < 0 ? layouts.get(-item) : undefined;
      if (!inner) return sizeOf(this.data, item);
      const label = this.data.label(item).length * CHARACTER + 80;
      return {
        width: Math.max(inner.width, label) + 2 * PADDING,
        height: inner.height + GROUP_HEAD + 2 * PADDING,
      };
    });
    const edges = (visible.edges.get(group) ?? []).map(({ from, to }): [number, number] => {
      return [place.get(from)!, place.get(to)!];
    });
    return { sizes, edges };
  }

  private place(
    group: number,
    at: Point,
    depth: number,
    visible: VisibleGraph,
    layouts: Map<number, LayoutResult>,
    scene: Scene,
  ): void {
    const layout = layouts.get(group)!;
    const children = this.data.children[group]!;
    children.forEach((item, index) => {
      const { x, y } = layout.places[index]!;
      const inner = item < 0 ? layouts.get(-item) : undefined;
      const label = inner ? this.data.label(item).length * CHARACTER + 80 : 0;
      const size = inner
        ? { width: Math.max(inner.width, label) + 2 * PADDING, height: inner.height + GROUP_HEAD + 2 * PADDING }
        : sizeOf(this.data, item);
      const box: Box = { item, x: at.x + x, y: at.y + y, ...size, open: inner !== undefined, depth };
      scene.boxes.push(box);
      scene.box.set(item, box);
      if (inner) {
        const corner = { x: box.x + (box.width - inner.width) / 2, y: box.y + GROUP_HEAD + PADDING };
        this.place(-item, corner, depth + 1, visible, layouts, scene);
      }
    });
    (visible.edges.get(group) ?? []).forEach(({ from, to, count }, index) => {
      const points = layout.lines[index]!.map(({ x, y }) => ({ x: at.x + x, y: at.y + y }));
      scene.lines.push({ from, to, points, count });
    });
  }
}

/** The lines of text in a closed box: the operator or the group, then where it is from or how large. */
export function textsOf(data: GraphData, item: Item): [string, string] {
  if (item < 0) {
    return [data.label(item), counted(data.sizes[-item]!, "node")];
  }
  if (data.kind(item) !== "operator") return [data.names[item]!, ""];
  const op = data.op(item);
  const layer = data.layer(item);
  const around = data.groupPaths[data.groupOf[item]!]!.replaceAll("/", ".");
  // The name of the enclosing group is not repeated.
  const own = layer && !around.endsWith(layer) ? layer.split(".").pop()! : "";
  return [op.slice(op.indexOf("::") < 0 ? 0 : op.indexOf("::") + 2), own || data.names[item]!];
}

function sizeOf(data: GraphData, item: Item): Size {
  const [first, second] = textsOf(data, item);
  const characters = Math.max(first.length * 1.08 + 3, second.length * 0.97);
  const width = Math.min(WIDEST, Math.max(NARROWEST, Math.round(characters * CHARACTER) + 24));
  if (item < 0) return { width: Math.min(WIDEST + 30, width + 22), height: GROUP_HEIGHT };
  return { width, height: data.kind(item) === "operator" ? NODE_HEIGHT : END_HEIGHT };
}
