// The settings that differ between the runs of a comparison.

import type { RenderProps } from "@anywidget/types";
import "./differences_table.css";
import { element } from "../element";
import { widget } from "../widget";

interface Row {
  setting: string;
  /** In the order of the runs. */
  values: string[];
}

interface Traits {
  runs: string[];
  rows: Row[];
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-differences");
  const update = () => {
    const rows = model.get("rows");
    el.hidden = model.get("runs").length < 2;
    const heading = element("h2", {}, "Settings that differ");
    if (rows.length === 0) {
      el.replaceChildren(heading, element("p", { class: "wb-hint" }, "All settings are the same."));
      return;
    }
    const heads = ["Setting", ...model.get("runs")].map((name) => element("th", { scope: "col" }, name));
    const body = rows.map(({ setting, values }) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, setting),
        ...values.map((value) => element("td", {}, value)),
      ),
    );
    const table = element(
      "table",
      { class: "wb-table" },
      element("thead", {}, element("tr", {}, ...heads)),
      element("tbody", {}, ...body),
    );
    el.replaceChildren(heading, table);
  };
  model.on("change", update);
  update();
}

export default widget({ render });
