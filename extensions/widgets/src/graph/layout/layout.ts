// Lays out the children of one group. Boxes that follow each other without a fork are one tall box for dagre,
// and what is left of a long graph is laid out in bands, so that the work can be given up between two of them.

import dagre from "@dagrejs/dagre";
import { orderRanks } from "./ordering";

export interface Size {
  width: number;
  height: number;
}

export interface LayoutInput {
  sizes: Size[];
  /** Pairs of positions in `sizes`; those that go back in this order are drawn but do not rank. */
  edges: [number, number][];
}

export interface Point {
  x: number;
  y: number;
}

export interface LayoutResult extends Size {
  /** Top left corners. */
  places: Point[];
  /** A line for each edge, from the bottom of one box to the top of the other. */
  lines: Point[][];
}

/** Returns false when the result is not wanted any more. */
export type Pause = () => Promise<boolean>;

const NODE_GAP = 18;
const RANK_GAP = 26;
/** As far from the corners of a box as this a line may end. */
const CORNER = 8;
const TURN = 9;
/** Up to so many boxes are laid out by dagre at once: it takes about 20 ms. */
const BAND = 56;

/** The layout, or null if it was given up. */
export async function layOut(input: LayoutInput, pause: Pause): Promise<LayoutResult | null> {
  const { sizes, edges } = input;
  const runs = runsOf(input);
  const place = new Map<number, number>();
  runs.forEach((run, index) => run.forEach((member) => place.set(member, index)));
  const tall = runs.map((run) => ({
    width: Math.max(...run.map((member) => sizes[member]!.width)),
    height: run.reduce((sum, member) => sum + sizes[member]!.height + RANK_GAP, -RANK_GAP),
  }));
  const between = edges.filter(([from, to]) => place.get(from) !== place.get(to));
  const outer = between.map(([from, to]): [number, number] => [place.get(from)!, place.get(to)!]);
  const found = await layOutRuns({ sizes: tall, edges: outer }, pause);
  if (!found) return null;
  const places: Point[] = new Array<Point>(sizes.length);
  runs.forEach((run, index) => {
    let { y } = found.places[index]!;
    for (const member of run) {
      places[member] = { x: found.places[index]!.x + (tall[index]!.width - sizes[member]!.width) / 2, y };
      y += sizes[member]!.height + RANK_GAP;
    }
  });
  let next = 0;
  const lines = edges.map(([from, to]) => {
    const line = place.get(from) === place.get(to) ? null : found.lines[next++]!;
    const up = line !== null && line[line.length - 1]!.y < line[0]!.y;
    if (!line || up) return straight(places[from]!, sizes[from]!, places[to]!, sizes[to]!);
    // dagre ends it anywhere on the border of a run, which is as wide as its widest box.
    const start = { x: above(line[0]!, places[from]!, sizes[from]!), y: places[from]!.y + sizes[from]!.height };
    const end = { x: above(line[line.length - 1]!, places[to]!, sizes[to]!), y: places[to]!.y };
    return [start, ...line.slice(1, -1), ...turn(line[line.length - 2]!, end), end];
  });
  return { ...found, places, lines };
}

/** Where a line that comes from the side turns down, so that its arrow is above the box. */
function turn(from: Point, { x, y }: Point): Point[] {
  return Math.abs(x - from.x) > y - from.y ? [{ x, y: y - TURN }] : [];
}

/** The x nearest to that of the point which is above the box, not above its corners. */
function above({ x }: Point, place: Point, { width }: Size): number {
  const corner = Math.min(CORNER, width / 2);
  return Math.min(Math.max(x, place.x + corner), place.x + width - corner);
}

/** The boxes in runs: in one, each is the only one to follow the one before, and follows it alone. */
export function runsOf({ sizes, edges }: LayoutInput): number[][] {
  const after = new Int32Array(sizes.length).fill(-1);
  const [leaving, entering] = [new Int32Array(sizes.length), new Int32Array(sizes.length)];
  for (const [from, to] of edges) {
    leaving[from]! += 1;
    entering[to]! += 1;
  }
  const follows = new Uint8Array(sizes.length);
  for (const [from, to] of edges) {
    if (from > to || leaving[from] !== 1 || entering[to] !== 1) continue;
    after[from] = to;
    follows[to] = 1;
  }
  const runs: number[][] = [];
  for (let head = 0; head < sizes.length; head++) {
    if (follows[head]) continue;
    const run: number[] = [];
    for (let each = head; each >= 0; each = after[each]!) run.push(each);
    runs.push(run);
  }
  return runs;
}

async function layOutRuns(input: LayoutInput, pause: Pause): Promise<LayoutResult | null> {
  const { sizes, edges } = input;
  const linked = new Set(edges.flat());
  const alone = [...sizes.keys()].filter((index) => !linked.has(index));
  const joined = [...sizes.keys()].filter((index) => linked.has(index));
  const places: Point[] = new Array<Point>(sizes.length);
  let top = 0;
  let width = 0;
  const inner = new Map<string, Point[]>();
  for (const band of bands(joined, edges)) {
    if (!(await pause())) return null;
    const found = layOutBand(band, input, inner);
    const shift = top === 0 ? 0 : alignment(band, found, places, input);
    for (const [index, place] of found.places) places[index] = { x: place.x + shift, y: place.y + top };
    for (const edge of found.edges) {
      for (const point of inner.get(edge)!) {
        point.x += shift;
        point.y += top;
      }
    }
    top += found.height + RANK_GAP;
  }
  const left = Math.min(0, ...joined.map((index) => places[index]!.x));
  for (const index of joined) {
    places[index]!.x -= left;
    width = Math.max(width, places[index]!.x + sizes[index]!.width);
  }
  for (const points of inner.values()) for (const point of points) point.x -= left;
  const grid = layOutGrid(alone, sizes, top, Math.max(width, 520), places);
  width = Math.max(width, grid.width);
  const height = Math.max(0, grid.height - (alone.length ? 0 : RANK_GAP));
  const lines = edges.map(([from, to]) => {
    return inner.get(`${from} ${to}`) ?? straight(places[from]!, sizes[from]!, places[to]!, sizes[to]!);
  });
  return { places, lines, width, height };
}

/** Rows of boxes that no edge leads to, from `top` on. */
function layOutGrid(alone: number[], sizes: Size[], top: number, widest: number, places: Point[]): Size {
  let [x, y, row, width] = [0, top, 0, 0];
  for (const index of alone) {
    const size = sizes[index]!;
    if (x > 0 && x + size.width > widest) {
      [x, y, row] = [0, y + row + NODE_GAP, 0];
    }
    places[index] = { x, y };
    x += size.width + NODE_GAP;
    row = Math.max(row, size.height);
    width = Math.max(width, x - NODE_GAP);
  }
  return { width, height: alone.length ? y + row : top };
}

interface Band {
  places: Map<number, Point>;
  edges: string[];
  height: number;
}

function layOutBand(band: number[], input: LayoutInput, inner: Map<string, Point[]>): Band {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ nodesep: NODE_GAP, ranksep: RANK_GAP, edgesep: 10, ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  const within = new Set(band);
  for (const index of band) graph.setNode(String(index), { ...input.sizes[index]! });
  const kept: [number, number][] = [];
  for (const [from, to] of input.edges) {
    if (!within.has(from) || !within.has(to) || from > to) continue;
    graph.setEdge(String(from), String(to));
    kept.push([from, to]);
  }
  dagre.layout(graph, { customOrder: orderRanks });
  const places = new Map<number, Point>();
  for (const index of band) {
    const { x = 0, y = 0, width, height } = graph.node(String(index));
    places.set(index, { x: x - width / 2, y: y - height / 2 });
  }
  const edges = kept.map(([from, to]) => {
    const key = `${from} ${to}`;
    const points = (graph.edge(String(from), String(to)) as { points: Point[] }).points;
    inner.set(key, points.map(({ x, y }) => ({ x, y })));
    return key;
  });
  const size = graph.graph() as Partial<Size>;
  return { places, edges, height: size.height ?? 0 };
}

/** How far to shift a band sideways so that the lines from the bands above are short. */
function alignment(band: number[], found: Band, places: Point[], { sizes, edges }: LayoutInput): number {
  const within = new Set(band);
  let [sum, count] = [0, 0];
  for (const [from, to] of edges) {
    if (!within.has(to) || within.has(from) || !places[from]) continue;
    sum += places[from].x + sizes[from]!.width / 2 - (found.places.get(to)!.x + sizes[to]!.width / 2);
    count += 1;
  }
  return count ? sum / count : 0;
}

function straight(from: Point, fromSize: Size, to: Point, toSize: Size): Point[] {
  const start = { x: from.x + fromSize.width / 2, y: from.y + fromSize.height };
  const end = { x: to.x + toSize.width / 2, y: to.y };
  if (end.y >= start.y) return [start, end];
  // An edge that goes back up leaves and enters at the side.
  const side = Math.max(from.x + fromSize.width, to.x + toSize.width) + NODE_GAP;
  const first = { x: from.x + fromSize.width, y: from.y + fromSize.height / 2 };
  const last = { x: to.x + toSize.width, y: to.y + toSize.height / 2 };
  return [first, { x: side, y: first.y }, { x: side, y: last.y }, last];
}

/** The boxes in bands of whole ranks, cut where few edges cross. */
export function bands(joined: number[], edges: [number, number][]): number[][] {
  if (joined.length <= 1.5 * BAND) return joined.length ? [joined] : [];
  const rank = ranks(joined, edges);
  const last = Math.max(...rank.values());
  const members: number[][] = Array.from({ length: last + 1 }, () => []);
  for (const index of joined) members[rank.get(index)!]!.push(index);
  const crossing = new Float64Array(last + 2);
  for (const [from, to] of edges) {
    const [a, b] = [rank.get(from)!, rank.get(to)!];
    for (let each = Math.min(a, b) + 1; each <= Math.max(a, b); each++) crossing[each]! += 1;
  }
  const found: number[][] = [];
  let start = 0;
  while (start <= last) {
    let [count, end, best] = [0, start, Infinity];
    for (let each = start; each <= last; each++) {
      count += members[each]!.length;
      if (each > start && count > 1.5 * BAND) break;
      const cut = each === last ? 0 : crossing[each + 1]!;
      if (count >= BAND / 2 ? cut <= best : best === Infinity || each === last) {
        if (count >= BAND / 2) best = cut;
        end = each;
      }
    }
    found.push(members.slice(start, end + 1).flat());
    start = end + 1;
  }
  return found;
}

/** The longest way to each box; one without predecessors stands just above its first successor. */
function ranks(joined: number[], edges: [number, number][]): Map<number, number> {
  const rank = new Map<number, number>(joined.map((index) => [index, 0]));
  const ahead = edges.filter(([from, to]) => from < to).sort((a, b) => a[0] - b[0]);
  for (const [from, to] of ahead) rank.set(to, Math.max(rank.get(to)!, rank.get(from)! + 1));
  const reached = new Set(ahead.map(([, to]) => to));
  const first = new Map<number, number>();
  for (const [from, to] of ahead) {
    if (!reached.has(from)) first.set(from, Math.min(first.get(from) ?? Infinity, rank.get(to)! - 1));
  }
  for (const [index, at] of first) rank.set(index, Math.max(0, at));
  return rank;
}
