// How nodes are marked by where they are from: a colour, and a letter for those who do not see it.

import type { MadeBy } from "../data/graph_data";

export interface Mark {
  letter: string;
  label: string;
}

export const MARKS: Record<MadeBy, Mark> = {
  export: { letter: "", label: "as exported" },
  loss: { letter: "L", label: "added with the loss" },
  rewrite: { letter: "R", label: "changed by a rewrite" },
  fusion: { letter: "F", label: "fused by ONNX Runtime" },
  gradient: { letter: "G", label: "added by the gradient" },
  update: { letter: "U", label: "writes a gradient or a buffer" },
  lora: { letter: "A", label: "added by LoRA" },
};

/** Colours of what is drawn, read from the style sheet. */
export interface Palette {
  text: string;
  muted: string;
  surface: string;
  raised: string;
  border: string;
  strong: string;
  line: string;
  accent: string;
  found: string;
  heat: string;
  font: string;
  fill: Record<MadeBy, string>;
  stroke: Record<MadeBy, string>;
}

export function readPalette(within: Element): Palette {
  const style = getComputedStyle(within);
  const read = (name: string) => style.getPropertyValue(name).trim();
  const kinds = Object.keys(MARKS) as MadeBy[];
  const all = (part: string) =>
    Object.fromEntries(kinds.map((kind) => [kind, read(`--wb-made-${kind}-${part}`)])) as Record<MadeBy, string>;
  return {
    text: read("--wb-text"),
    muted: read("--wb-text-muted"),
    surface: read("--wb-surface"),
    raised: read("--wb-group"),
    border: read("--wb-border"),
    strong: read("--wb-border-strong"),
    line: read("--wb-edge"),
    accent: read("--wb-selected"),
    found: read("--wb-found"),
    heat: read("--wb-heat"),
    font: style.fontFamily,
    fill: all("fill"),
    stroke: all("stroke"),
  };
}
