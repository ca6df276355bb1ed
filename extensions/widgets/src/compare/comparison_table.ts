// The table of a comparison. Engines are rows; where those do not fit the page, they are columns.

import type { RenderProps } from "@anywidget/types";
import "./comparison_table.css";
import { element } from "../element";
import { followOverflow } from "../scroll_region";
import {
  formatDifference,
  formatLoss,
  formatMegabytes,
  formatSignificant,
  formatWhole,
} from "../number_format";
import { type EngineStyles, lineSample } from "../theme";
import { widget } from "../widget";

type Cell = number | string | null;

interface Row {
  engine: string;
  /** Fallbacks to PyTorch, in sentences; empty if there are none. */
  note: string;
  /** Values by the key of their column; null where there is none. Those of a ratio as they are written. */
  cells: Record<string, Cell>;
}

interface Column {
  key: string;
  label: string;
  unit: string;
  /** Its meaning, in a sentence. */
  description: string;
}

interface Traits {
  columns: Column[];
  rows: Row[];
  /** Heading of the names of the rows: "Engine" or "Run". */
  heading: string;
  /** The engine or run that ratios and loss differences are measured against. */
  reference: string;
  /** Source of the numbers. */
  caption: string;
  /** Text while there are no rows; empty: nothing is shown then. */
  hint: string;
  /** The style of each engine's line. */
  engine_styles: EngineStyles;
}

/** Behind the name of an engine of which something fell back to PyTorch. */
const MARK = "*";

const FORMATS: Record<string, (value: number) => string> = {
  samples_per_s: formatSignificant,
  steps: formatWhole,
  startup_s: (value) => value.toFixed(1),
  final_loss: formatLoss,
  test_loss: formatLoss,
  test_accuracy: (value) => (100 * value).toFixed(1),
  max_loss_difference: formatDifference,
};

function cellOf(row: Row, column: Column, reference: string): HTMLTableCellElement {
  const value = row.cells[column.key] ?? null;
  const cell = element("td");
  if (value === null) cell.append("–");
  else if (typeof value === "string") cell.append(column.key === "ratio" ? `${value}×` : value);
  else cell.append((FORMATS[column.key] ?? formatMegabytes)(value));
  const { ratio_low: low, ratio_high: high } = row.cells;
  if (column.key === "ratio" && value !== null) {
    const interval =
      low && high
        ? `${low} to ${high}`
        : row.cells["rounds"] === 0
          ? "no interval"
          : "too few rounds";
    cell.append(element("small", {}, row.engine === reference ? "reference" : interval));
  }
  // An attribute takes any text; a class takes no spaces, and a status is words such as "not started".
  if (column.key === "status") cell.dataset["status"] = String(value);
  return cell;
}

function columnHead(column: Column, scope: string): HTMLTableCellElement {
  const head = element("th", { scope, title: column.description }, column.label);
  if (column.unit) head.append(element("small", {}, column.unit));
  return head;
}

function engineHead(row: Row, styles: EngineStyles, scope: string): HTMLTableCellElement {
  const head = element("th", { scope }, lineSample(styles[row.engine]), row.engine);
  if (row.note) head.append(element("span", { class: "wb-mark", title: row.note }, MARK));
  return head;
}

/** The table with engines as rows or, turned, as columns. */
function tableOf(
  columns: Column[],
  rows: Row[],
  heading: string,
  reference: string,
  styles: EngineStyles,
  turned: boolean,
): HTMLElement {
  const head = turned
    ? rows.map((row) => engineHead(row, styles, "col"))
    : columns.map((column) => columnHead(column, "col"));
  const body = turned
    ? columns.map((column) => [
        columnHead(column, "row"),
        ...rows.map((row) => cellOf(row, column, reference)),
      ])
    : rows.map((row) => [
        engineHead(row, styles, "row"),
        ...columns.map((column) => cellOf(row, column, reference)),
      ]);
  const corner = turned ? element("td") : element("th", { scope: "col" }, heading);
  return element(
    "table",
    { class: turned ? "wb-table wb-narrow" : "wb-table" },
    element("thead", {}, element("tr", {}, corner, ...head)),
    element("tbody", {}, ...body.map((cells) => element("tr", {}, ...cells))),
  );
}

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-comparison");
  const update = () => {
    const rows = model.get("rows");
    const heading = element("h2", {}, "Figures");
    el.hidden = rows.length === 0 && !model.get("hint");
    if (rows.length === 0) {
      el.replaceChildren(heading, element("p", { class: "wb-hint" }, model.get("hint")));
      return;
    }
    const table = (turned: boolean) =>
      tableOf(
        model.get("columns"),
        rows,
        model.get("heading"),
        model.get("reference"),
        model.get("engine_styles"),
        turned,
      );
    const wide = table(false);
    el.replaceChildren(
      heading,
      wide,
      element("p", { class: "wb-note" }, model.get("caption")),
      ...rows
        .filter((row) => row.note)
        .map((row) => element("p", { class: "wb-note" }, `${MARK} ${row.engine}: ${row.note}`)),
    );
    if (wide.scrollWidth > el.clientWidth) wide.replaceWith(table(true));
  };
  followOverflow(el, "Figures of the comparison", signal);
  const resized = new ResizeObserver(update);
  resized.observe(el);
  signal.addEventListener("abort", () => resized.disconnect());
  model.on("change", update);
}

export default widget({ render });
