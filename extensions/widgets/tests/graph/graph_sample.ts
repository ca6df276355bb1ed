// A small graph in the format of the kernel: x -> [first: MatMul -> Relu] -> Neg -> y, with a gradient.

import { GraphData } from "../../src/graph/data/graph_data";

const HEADER = {
  key: "training",
  title: "small, training graph",
  notices: [],
  names: ["m", "r", "n", "x", "y"],
  values: ["x", "w", "a", "b", "y"],
  groups: ["", "first"],
  paths: ["", "first"],
  ops: ["MatMul", "Relu", "Neg", "Input", "Output"],
  layers: ["", "net.first"],
  notes: [""],
  types: ["float32, batch × 2", "float32, 2 × 3", "float32, batch × 3"],
};
const ARRAYS: Record<string, number[]> = {
  node_op: [0, 1, 2, 3, 4],
  node_kind: [0, 0, 0, 1, 2],
  node_group: [1, 1, 0, 0, 0],
  node_made_by: [0, 2, 4, 0, 0],
  node_note: [0, 0, 0, 0, 0],
  node_layer: [1, 1, 0, 0, 0],
  inputs_start: [0, 2, 3, 4, 4, 5],
  inputs: [0, 1, 2, 3, 4],
  outputs_start: [0, 1, 2, 3, 4, 4],
  outputs: [2, 3, 4, 0],
  origins_start: [0, 1, 2, 2, 2, 2],
  origins: [0, 0],
  value_type: [0, 1, 2, 2, 2],
  value_role: [1, 2, 0, 0, 0],
  group_parent: [-1, 0],
};

/** The graph; with other groups, or other numbers, if they are given. */
export function sample(groups = HEADER.groups, others: Record<string, number[]> = {}): GraphData {
  const all = { ...ARRAYS, ...others };
  const arrays = Object.entries(all).map(([name, array]) => [name, array.length]);
  const text = new TextEncoder().encode(JSON.stringify({ ...HEADER, groups, paths: groups, arrays }));
  const start = Math.ceil((4 + text.length) / 4) * 4;
  const numbers = Object.values(all).flat();
  const buffer = new ArrayBuffer(start + 4 * numbers.length);
  new DataView(buffer).setUint32(0, text.length, true);
  new Uint8Array(buffer, 4).set(text);
  new Int32Array(buffer, start).set(numbers);
  return new GraphData(buffer);
}
