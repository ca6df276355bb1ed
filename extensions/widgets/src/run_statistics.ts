// Statistics of each engine, in a section that unfolds; what fell back to PyTorch is shown in any case.

import type { RenderProps } from "@anywidget/types";
import { element } from "./element";
import { keepFocus } from "./focus";
import "./run_statistics.css";
import { type EngineStyles, lineSample } from "./theme";
import { widget } from "./widget";

interface Line {
  name: string;
  value: string;
  /** 1 for a detail of the line above. */
  level: number;
}

interface Engine {
  engine: string;
  /** Fallbacks to PyTorch, in sentences. */
  notes: string[];
  lines: Line[];
}

interface Traits {
  engines: Engine[];
  /** Before each note. */
  mark: string;
  /** The style of each engine's line. */
  engine_styles: EngineStyles;
}

function tableOf(engine: Engine, styles: EngineStyles): HTMLTableElement {
  const rows = engine.lines.map((line) =>
    element(
      "tr",
      { class: line.level ? "wb-detail" : "" },
      element("th", { scope: "row" }, line.name),
      element("td", {}, line.value),
    ),
  );
  return element(
    "table",
    { class: "wb-table" },
    element("caption", {}, lineSample(styles[engine.engine]), engine.engine),
    element("tbody", {}, ...rows),
  );
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-statistics");
  const update = () => {
    const engines = model.get("engines");
    const open = el.querySelector("details")?.open ?? false;
    el.hidden = engines.length === 0;
    const notes = engines.flatMap((engine) =>
      engine.notes.map((note) =>
        element("p", { class: "wb-fallback" }, `${model.get("mark")} ${engine.engine}: ${note}`),
      ),
    );
    const folded = element(
      "details",
      {},
      element("summary", {}, element("h2", {}, "Engine statistics")),
      ...engines.map((engine) => tableOf(engine, model.get("engine_styles"))),
    );
    folded.open = open;
    el.replaceChildren(...notes, folded);
  };
  model.on("change", () => keepFocus(el, update));
  update();
}

export default widget({ render });
