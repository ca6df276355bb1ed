import { describe, expect, it } from "vitest";
import { Camera } from "../../src/graph/drawing/camera";
import { formatTime, Heat, heatOpacity } from "../../src/graph/drawing/heat";
import { layOut } from "../../src/graph/layout/layout";
import { shorten, SvgPainter } from "../../src/graph/drawing/painter";
import { type Scene, SceneMaker, textsOf } from "../../src/graph/drawing/scene";
import { plain, SearchIndex } from "../../src/graph/data/search";
import { VisibleGraph } from "../../src/graph/data/visible_graph";
import { step } from "../../src/graph/panes/walk";
import { sample } from "./graph_sample";

const data = sample();
const [MATMUL, RELU, NEG, X, Y] = [0, 1, 2, 3, 4] as const;
const FIRST = -1;

async function scene(open: number[]): Promise<Scene> {
  const maker = new SceneMaker(data, (input) => layOut(input, async () => true));
  return (await maker.make(new Set(open), new AbortController().signal))!;
}

describe("a graph from the kernel", () => {
  it("has nodes, edges and groups", () => {
    expect(data.op(MATMUL)).toBe("MatMul");
    expect(data.madeBy(RELU)).toBe("rewrite");
    expect([...data.origins(RELU)]).toEqual([0]);
    expect([...data.edgeFrom].map((from, edge) => [from, data.edgeTo[edge]])).toEqual([
      [X, MATMUL],
      [MATMUL, RELU],
      [RELU, NEG],
      [NEG, Y],
    ]);
    expect(data.children).toEqual([[X, FIRST, NEG, Y], [MATMUL, RELU]]);
    expect([...data.sizes]).toEqual([3, 2]);
    expect(data.operatorCount).toBe(3);
    expect([0, 1].map((group) => data.marksIn(group)), "of what is in it").toEqual([["rewrite", "gradient"], ["rewrite"]]);
  });

  it("shows a closed group as one box, an open one as what is in it", () => {
    const closed = new VisibleGraph(data, new Set());
    expect(closed.boxOf(MATMUL)).toBe(FIRST);
    expect(closed.successors(X)).toEqual([FIRST]);
    expect(closed.successors(FIRST)).toEqual([NEG]);
    expect([...closed.items()].map(({ item }) => item)).toEqual([X, FIRST, NEG, Y]);
    const open = new VisibleGraph(data, new Set([1]));
    expect(open.successors(X)).toEqual([MATMUL]);
    expect(open.edges.get(1)).toEqual([{ from: MATMUL, to: RELU, count: 1 }]);
    expect(open.edges.get(0)).toContainEqual({ from: FIRST, to: NEG, count: 1 });
    expect([...open.items()].map(({ item, level }) => [item, level])).toEqual([
      [X, 1],
      [FIRST, 1],
      [MATMUL, 2],
      [RELU, 2],
      [NEG, 1],
      [Y, 1],
    ]);
  });

  it("draws what is in an open group within it", async () => {
    const made = await scene([1]);
    const [group, inside] = [made.box.get(FIRST)!, made.box.get(RELU)!];
    expect(group.open).toBe(true);
    expect(inside.x).toBeGreaterThan(group.x);
    expect(inside.y + inside.height).toBeLessThan(group.y + group.height);
    expect(made.box.get(NEG)!.y).toBeGreaterThan(group.y + group.height);
  });

  it("names a node by its operator and its module, and by its name where the group says the module", () => {
    expect(textsOf(data, NEG)).toEqual(["Neg", "n"]);
    expect(textsOf(data, X)).toEqual(["x", ""]);
    expect(textsOf(data, FIRST)).toEqual(["first", "2 nodes"]);
  });
});

describe("the arrow keys", () => {
  it("walk along edges, into and out of open groups", async () => {
    const closed = await scene([]);
    expect(step(closed, null, "down")).toBe(X);
    expect(step(closed, X, "down")).toBe(FIRST);
    expect(step(closed, FIRST, "down")).toBe(NEG);
    expect(step(closed, NEG, "up")).toBe(FIRST);
    expect(step(closed, Y, "down")).toBeNull();
    expect(step(closed, X, "left")).toBeNull();
    const open = await scene([1]);
    expect(step(open, X, "down")).toBe(MATMUL);
    expect(step(open, FIRST, "down")).toBe(MATMUL);
    expect(step(open, RELU, "down")).toBe(NEG);
  });

  it("reach every box, also a closed group below an output and what stands at no other's height", () => {
    // Node 1 has an edge to node 2, an output; the group 3 is below, and node 4 beside it, a little lower.
    const places = { 1: [0, 0], 2: [0, 60], [-3]: [0, 120], 4: [100, 170] };
    const boxes = Object.entries(places).map(([item, [x = 0, y = 0]]) => ({
      ...{ item: Number(item), x, y, width: 80, height: 40, open: false, depth: 0 },
    }));
    const edges = { successors: (item: number) => (item === 1 ? [2] : []), predecessors: (item: number) => (item === 2 ? [1] : []) };
    const box = new Map(boxes.map((each) => [each.item, each]));
    const made = { boxes, box, visible: edges, lines: [], width: 180, height: 210 } as unknown as Scene;
    expect(step(made, 1, "down")).toBe(2);
    expect(step(made, 2, "down")).toBe(-3);
    expect(step(made, -3, "up")).toBe(2);
    expect(step(made, -3, "right")).toBe(4);
    expect(step(made, 4, "left")).toBe(-3);
    expect(step(made, 1, "left")).toBeNull();
  });
});

describe("the search", () => {
  const index = new SearchIndex(data);
  it("finds names, operators, layers and shapes", () => {
    expect(index.find("relu")).toEqual([RELU]);
    expect(index.find("net.first")).toEqual([MATMUL, RELU]);
    expect(index.find("2x3")).toEqual([MATMUL]);
    expect(index.find("batch x 2")).toEqual([MATMUL, X]);
    expect(index.find("relu matmul")).toEqual([]);
    expect(index.find("  ")).toEqual([]);
  });

  it("does not find a node by what another computes", () => {
    const [computed] = data.outputs(MATMUL);
    const names = data.valueNames.map((name, value) => (value === computed ? "product" : name));
    const renamed = Object.create(data, { valueNames: { value: names } }) as typeof data;
    expect(new SearchIndex(renamed).find("product")).toEqual([MATMUL]);
  });

  it("finds groups by their path, the outermost of those within each other, before the nodes", () => {
    expect(index.find("first")).toEqual([FIRST, MATMUL, RELU]);
    const paths = { ...data, names: [], groupPaths: ["", "net", "net/a", "b"], groupParents: Int32Array.of(-1, 0, 1, 0) };
    const nested = new SearchIndex(paths as unknown as typeof data);
    expect(nested.find("net")).toEqual([-1]);
    expect(nested.find("a")).toEqual([-2]);
  });

  it("takes shapes as people type them, and leaves words alone", () => {
    expect(plain("16 × 8")).toBe("16×8");
    expect(plain("Batch x 10")).toBe("batch×10");
    expect(plain("Max exp")).toBe("max exp");
  });
});

describe("the camera", () => {
  it("keeps what is under the pointer while it zooms", () => {
    const camera = new Camera();
    camera.pan(-30, -40);
    const before = camera.toScene({ x: 100, y: 50 });
    camera.zoom(1.7, { x: 100, y: 50 });
    expect(camera.toScene({ x: 100, y: 50 }).x).toBeCloseTo(before.x, 9);
    expect(camera.toScene({ x: 100, y: 50 }).y).toBeCloseTo(before.y, 9);
  });

  it("fits a scene, and moves no more than it must to show a box", () => {
    const camera = new Camera();
    camera.fit({ width: 1000, height: 4000 }, { width: 500, height: 400 });
    expect(camera.toScene({ x: 0, y: 0 }).y).toBeLessThan(0);
    expect(camera.toScene({ x: 0, y: 400 }).y).toBeGreaterThan(4000);
    camera.scale = 1;
    [camera.x, camera.y] = [0, 0];
    camera.reveal({ x: 50, y: 50, width: 100, height: 40 }, { width: 500, height: 400 });
    expect([camera.x, camera.y]).toEqual([0, 0]);
    camera.reveal({ x: 50, y: 1000, width: 100, height: 40 }, { width: 500, height: 400 });
    expect(camera.toSurface({ x: 50, y: 1040 }).y).toBeLessThanOrEqual(400);
  });

  it("shows a box above what covers the lower right corner, but not beyond the upper edge", () => {
    const [surface, covered] = [{ width: 500, height: 400 }, { width: 150, height: 160 }];
    const camera = new Camera();
    const end = (x: number, height: number) => {
      [camera.x, camera.y] = [0, 0];
      camera.reveal({ x, y: 350 - height, width: 80, height }, surface, covered);
      return camera.toSurface({ x, y: 350 }).y;
    };
    expect([end(320, 40), end(100, 40), end(320, 300)]).toEqual([240, 350, 300]);
  });
});

/** Relative luminance as of WCAG 2, of red, green and blue from 0 to 255. */
function luminance(colour: readonly number[]): number {
  const [red, green, blue] = colour.map((each) => (each <= 10 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

describe("the order of groups", () => {
  it("is that of their operators, wherever the inputs and outputs are listed", () => {
    // The forward pass holds x and y, which come last in the list.
    const groups = ["", "forward", "backward"];
    const data = sample(groups, { node_group: [1, 2, 2, 1, 1], group_parent: [-1, 0, 0] });
    expect(data.children[0]).toEqual([-1, -2]);
  });
});

describe("what is painted after a profile", () => {
  const times = new Float32Array([30, 10, NaN, NaN, NaN]);
  const heat = new Heat(data, { engine: "ondevice", times, bytes: times }, "time");
  it("sums groups and leaves what is not known", () => {
    expect(heat.of(MATMUL)).toEqual({ share: 1, text: "30\u00a0µs" });
    expect(heat.of(FIRST)!.text).toBe("40\u00a0µs");
    expect(heat.of(NEG)).toBeNull();
    expect(heat.incomplete).toBe(true);
    const all = new Float32Array([30, 10, 5, NaN, NaN]); // no inputs
    expect(new Heat(data, { engine: "ondevice", times: all, bytes: all }, "time").incomplete).toBe(false);
    expect(formatTime(1234)).toBe("1.23\u00a0ms");
  });

  it("says that the sum of a group is of a part of it", () => {
    const sums = (bytes: number[]) => new Heat(data, { engine: "ondevice", times, bytes: new Float32Array(bytes) }, "memory").of(FIRST)!.text;
    expect(sums([30, 10, NaN, NaN, NaN])).toBe("40\u00a0B");
    expect(sums([30, NaN, NaN, NaN, NaN])).toBe("≥\u00a030\u00a0B");
  });

  it("leaves text readable on the hottest box", () => {
    // Heat, box and text of each theme, from graph_view.css and JupyterLab's themes.
    for (const [heat, box, text] of [[[194, 65, 12], [255, 255, 255], [33, 33, 33]], [[251, 146, 60], [33, 33, 33], [224, 224, 224]]] as const) {
      const mixed = heat.map((each, at) => heatOpacity(1) * each + (1 - heatOpacity(1)) * box[at]!);
      const [dark, light] = [luminance(mixed), luminance(text)].sort((a, b) => a - b) as [number, number];
      expect((light + 0.05) / (dark + 0.05)).toBeGreaterThan(4.5);
    }
  });
});

describe("an SVG file", () => {
  it("escapes names and cuts long ones", () => {
    const painter = new SvgPainter();
    painter.text(0, 0, "<a & b>", { size: 10, color: "red" });
    const text = painter.document(10, 10, "white", "sans-serif", "T<");
    expect(text).toContain("&#60;a &#38; b&#62;");
    expect(text).toContain("<title>T&#60;</title>");
    expect(shorten("abcdefgh", 5, (part) => part.length)).toBe("abcd…");
    expect(shorten("abc", 5, (part) => part.length)).toBe("abc");
  });
});
