import dagre from "@dagrejs/dagre";
import { describe, expect, it } from "vitest";
import { orderRanks, type RankedGraph } from "../../../src/graph/layout/ordering";

type Edges = [number, number][];

/** How many pairs of lines cross, counted pair by pair, with this search or with dagre's. */
function crossings(count: number, edges: Edges, search?: (graph: RankedGraph) => void): number {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (let node = 0; node < count; node++) graph.setNode(String(node), { width: 100, height: 40 });
  for (const [from, to] of edges) graph.setEdge(String(from), String(to));
  let crossed = 0;
  dagre.layout(graph, {
    customOrder(ranked, order) {
      if (search) search(ranked);
      else order(ranked, {});
      const lines = ranked.edges().map(({ v, w }) => [ranked.node(v), ranked.node(w)] as const);
      for (const [from, to] of lines) {
        for (const [other, end] of lines) {
          if (from.rank === other.rank && from.order! < other.order! && to.order! > end.order!) crossed += 1;
        }
      }
    },
  });
  return crossed;
}

/** Each node reads one to three of those before it, near ones or any. */
function randomEdges(count: number, reach: number, random: () => number): Edges {
  const edges: Edges = [];
  for (let to = 1; to < count; to++) {
    for (let each = 0; each <= 2 * random(); each++) edges.push([Math.max(0, to - 1 - Math.floor(random() * reach)), to]);
  }
  return edges;
}

describe("the order of boxes within their ranks", () => {
  it("crosses no line of a chain with skips", () => {
    const edges: Edges = [];
    for (let to = 1; to < 40; to++) edges.push([to - 1, to]);
    for (let to = 7; to < 40; to += 8) edges.push([to - 6, to]);
    expect(crossings(40, edges, orderRanks)).toBe(0);
  });

  it("crosses no more lines than dagre's own search, over all", () => {
    let seed = 7;
    const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
    let [ours, theirs] = [0, 0];
    for (const reach of [4, 8, 30]) {
      for (let each = 0; each < 3; each++) {
        const edges = randomEdges(20, reach, random);
        ours += crossings(20, edges, orderRanks);
        theirs += crossings(20, edges);
      }
    }
    expect(theirs).toBeGreaterThan(20);
    expect(ours).toBeLessThanOrEqual(theirs);
  });

  it("numbers the nodes of each rank from 0, those without lines too", () => {
    const nodes: { rank: number; order?: number }[] = [0, 1, 1, 2, 2, 2].map((rank) => ({ rank }));
    const lines = [[0, 1], [0, 2], [1, 5], [2, 4]];
    orderRanks({
      nodes: () => nodes.map((_, index) => String(index)),
      edges: () => lines.map(([v, w]) => ({ v: String(v), w: String(w) })),
      node: (name) => nodes[Number(name)]!,
    });
    for (const rank of [0, 1, 2]) {
      const orders = nodes.filter((node) => node.rank === rank).map(({ order }) => order);
      expect(orders.sort()).toEqual([...orders.keys()]);
    }
  });
});
