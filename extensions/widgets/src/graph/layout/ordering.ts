// The order of boxes within each rank, with few crossing lines: barycenter sweeps, as dagre does them itself, over arrays
// in place of its graphs with groups, which take most of the time of a layout.

/** What is read of dagre's graph when its ranks are known; the bends of a line that passes a rank are nodes of it too. */
export interface RankedGraph {
  nodes(): string[];
  edges(): { v: string; w: string }[];
  node(name: string): { rank?: number; order?: number };
}

/** The search ends after so many sweeps that do not lower the number of crossings. */
const PATIENCE = 4;

/** Sets `order` of each node: its place in its rank, from the left. */
export function orderRanks(graph: RankedGraph): void {
  const names = graph.nodes();
  const ranks = names.map((name) => graph.node(name).rank!);
  const index = new Map(names.map((name, node) => [name, node]));
  const above: number[][] = names.map(() => []);
  const below: number[][] = names.map(() => []);
  for (const { v, w } of graph.edges()) {
    const [from, to] = [index.get(v)!, index.get(w)!];
    below[from]!.push(to);
    above[to]!.push(from);
  }
  let layers = depthFirst(ranks, below);
  let best = layers;
  let fewest = crossings(layers, below);
  let [sweeps, since] = [0, 0];
  while (fewest > 0 && since < PATIENCE) {
    layers = sweeps % 2 ? sweep([...layers].reverse(), below).reverse() : sweep(layers, above);
    sweeps += 1;
    since += 1;
    const count = crossings(layers, below);
    if (count < fewest) [best, fewest, since] = [layers, count, 0];
  }
  for (const layer of best) layer.forEach((node, order) => (graph.node(names[node]!).order = order));
}

/** The nodes of each rank in the order in which a walk down the lines meets them. */
function depthFirst(ranks: number[], below: number[][]): number[][] {
  const layers: number[][] = Array.from({ length: Math.max(...ranks) + 1 }, () => []);
  const seen = new Set<number>();
  const waiting = [...ranks.keys()].sort((a, b) => ranks[b]! - ranks[a]!);
  while (waiting.length) {
    const node = waiting.pop()!;
    if (seen.has(node)) continue;
    seen.add(node);
    layers[ranks[node]!]!.push(node);
    waiting.push(...[...below[node]!].reverse());
  }
  return layers;
}

/** Sorts each layer by the mean place of its neighbours in the one before; a node without neighbours keeps its place. */
function sweep(layers: number[][], neighbours: number[][]): number[][] {
  const place: number[] = [];
  return layers.map((layer) => {
    const key = new Map<number, number>();
    layer.forEach((node, at) => {
      const next = neighbours[node]!;
      key.set(node, next.length ? next.reduce((sum, each) => sum + place[each]!, 0) / next.length : at);
    });
    const sorted = [...layer].sort((a, b) => key.get(a)! - key.get(b)!);
    sorted.forEach((node, at) => (place[node] = at));
    return sorted;
  });
}

/** How many pairs of lines cross between neighbouring layers. */
function crossings(layers: number[][], below: number[][]): number {
  const place: number[] = [];
  for (const layer of layers) layer.forEach((node, at) => (place[node] = at));
  let count = 0;
  for (const layer of layers) {
    const ends: number[] = []; // of the lines that start further left, sorted
    for (const node of layer) {
      const own = below[node]!.map((to) => place[to]!);
      for (const end of own) count += ends.length - firstAbove(ends, end);
      for (const end of own) ends.splice(firstAbove(ends, end), 0, end);
    }
  }
  return count;
}

/** Where the first value above `limit` stands. */
function firstAbove(sorted: number[], limit: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
