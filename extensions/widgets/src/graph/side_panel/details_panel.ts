// Details of the selected node, and the values of its parameters.

import { element } from "../../element";
import { formatSignificant, formatWhole } from "../../number_format";
import type { GraphData, Item } from "../data/graph_data";
import { MARKS, type Mark } from "../drawing/marks";

interface Named {
  name: string;
  type: string;
  role: string;
}

export interface NodeDetails {
  index: number;
  name: string;
  op: string;
  layer: string;
  made_by: keyof typeof MARKS;
  note: string;
  attributes: { name: string; value: string }[];
  inputs: Named[];
  outputs: Named[];
}

export interface TensorSummary {
  name: string;
  shape: number[];
  dtype: string;
  elements: number;
  zeros: number;
  nan: number;
  infinite: number;
  minimum: number | null;
  maximum: number | null;
  mean: number | null;
  std: number | null;
  histogram: number[];
}

export interface DetailsSource {
  details: (node: number) => Promise<NodeDetails>;
  tensor: (name: string) => Promise<TensorSummary>;
}

/** Parameters whose values are read at once; those of others when they are asked for. */
const READ_AT_ONCE = 3;

export class DetailsPanel {
  readonly root = element("section", { class: "wb-graph-details", "aria-label": "Details" });
  private wanted = 0;

  constructor(private readonly onClose: () => void) {
    this.showNothing();
  }

  showNothing(): void {
    this.wanted += 1;
    this.root.replaceChildren(
      element("p", { class: "wb-hint" }, "Select a node to see its attributes, shapes and values."),
    );
  }

  showGroup(data: GraphData, item: Item, heat: string): void {
    this.wanted += 1;
    const counts = new Map<string, number>();
    for (let node = 0; node < data.nodeCount; node++) {
      if (!isWithin(data, node, -item)) continue;
      counts.set(data.op(node), (counts.get(data.op(node)) ?? 0) + 1);
    }
    const rows = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 12);
    this.root.replaceChildren(
      this.head(data.label(item), "group"),
      facts([
        ["Path", data.groupPaths[-item]!],
        ["Nodes", formatWhole(data.sizes[-item]!)],
        ...(heat ? ([["Profile", heat]] as [string, string][]) : []),
      ]),
      section("Operators", facts(rows.map(([op, count]) => [op, formatWhole(count)]), "wb-graph-counts")),
    );
  }

  async showNode(data: GraphData, node: number, heat: string, source: DetailsSource): Promise<void> {
    const number = (this.wanted += 1);
    const mark = MARKS[data.madeBy(node)];
    const head = this.head(data.op(node), data.kind(node) === "operator" ? "node" : data.kind(node));
    this.root.replaceChildren(head, element("p", { class: "wb-hint" }, "Reading…"));
    try {
      const details = await source.details(node);
      if (number === this.wanted) this.fill(head, details, mark, heat, source);
    } catch (error) {
      if (number === this.wanted) this.root.replaceChildren(head, problem(error));
    }
  }

  private head(text: string, kind: string): HTMLElement {
    const close = element("button", { type: "button", class: "wb-toggle" }, "Close");
    close.addEventListener("click", this.onClose);
    return element("div", { class: "wb-graph-details-head" }, element("h3", {}, text, element("small", {}, ` ${kind}`)), close);
  }

  private fill(head: HTMLElement, details: NodeDetails, mark: Mark, heat: string, source: DetailsSource): void {
    const known: [string, string][] = [["Name", details.name]];
    if (details.layer) known.push(["Layer", details.layer]);
    if (mark.letter) known.push(["Origin", `${mark.letter} · ${mark.label}`]);
    if (details.note) known.push(["What was done", details.note]);
    if (heat) known.push(["Profile", heat]);
    const parts: HTMLElement[] = [head, facts(known)];
    let read = 0;
    const listed = (values: Named[]) =>
      element(
        "ul",
        { class: "wb-graph-values" },
        ...values.map((value) => {
          if (!value.name) return element("li", { class: "wb-note" }, value.type);
          const entry = element("li", {}, element("code", {}, value.name));
          if (value.role !== "computed") entry.append(element("small", {}, ` ${value.role}`));
          entry.append(element("div", { class: "wb-note" }, value.type || "type not recorded"));
          if (value.role === "parameter" || value.role === "initializer") {
            const atOnce = value.role === "parameter" && read < READ_AT_ONCE;
            read += atOnce ? 1 : 0;
            entry.append(tensorSection(value.name, atOnce, source));
          }
          return entry;
        }),
      );
    if (details.inputs.length) parts.push(section("Inputs", listed(details.inputs)));
    if (details.outputs.length) parts.push(section("Outputs", listed(details.outputs)));
    if (details.attributes.length) {
      parts.push(section("Attributes", facts(details.attributes.map(({ name, value }) => [name, value]))));
    }
    this.root.replaceChildren(...parts);
  }
}

function isWithin(data: GraphData, node: number, group: number): boolean {
  for (let each = data.groupOf[node]!; each >= 0; each = data.groupParents[each]!) if (each === group) return true;
  return false;
}

function section(title: string, content: HTMLElement): HTMLElement {
  return element("div", { class: "wb-graph-section" }, element("h4", {}, title), content);
}

function facts(rows: [string, string][], style = ""): HTMLElement {
  const parts = rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
  return element("dl", { class: style }, ...parts);
}

function problem(error: unknown): HTMLElement {
  return element("p", { class: "wb-graph-problem" }, error instanceof Error ? error.message : String(error));
}

function tensorSection(name: string, atOnce: boolean, source: DetailsSource): HTMLElement {
  const content = element("div", {});
  const folded = element("details", {}, element("summary", {}, "values"), content);
  let asked = false;
  const ask = async () => {
    if (asked) return;
    asked = true;
    content.replaceChildren(element("span", { class: "wb-note" }, "Reading…"));
    try {
      content.replaceChildren(summaryOf(await source.tensor(name)));
    } catch (error) {
      content.replaceChildren(problem(error));
    }
  };
  folded.addEventListener("toggle", () => folded.open && void ask());
  folded.open = atOnce;
  if (atOnce) void ask();
  return folded;
}

export function summaryOf(summary: TensorSummary): HTMLElement {
  const number = (value: number | null) => (value === null ? "–" : formatSignificant(value));
  const share = summary.elements ? ` (${formatSignificant((100 * summary.zeros) / summary.elements)}\u00a0%)` : "";
  const rows: [string, string][] = [
    ["Minimum", number(summary.minimum)],
    ["Maximum", number(summary.maximum)],
    ["Mean", number(summary.mean)],
    ["Std", number(summary.std)],
    ["Zeros", `${formatWhole(summary.zeros)}${summary.zeros ? share : ""}`],
    ["NaN", formatWhole(summary.nan)],
  ];
  if (summary.infinite) rows.push(["Infinite", formatWhole(summary.infinite)]);
  const made = facts(rows);
  const [first] = rows;
  if (summary.histogram.length === 0) return made;
  const highest = Math.max(...summary.histogram);
  const bars = summary.histogram.map((count) => {
    const bar = element("span", { style: `height: ${highest ? (100 * count) / highest : 0}%` });
    return bar;
  });
  const label = `Histogram of ${formatWhole(summary.elements)} values from ${first![1]} to ${rows[1]![1]}`;
  return element("div", {}, element("div", { class: "wb-histogram", role: "img", "aria-label": label }, ...bars), made);
}
