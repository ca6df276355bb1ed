// Which engines to train with: a check box each, and for those that cannot run here the reason.

import type { RenderProps } from "@anywidget/types";
import { element, freshId } from "../../element";
import { keepFocus } from "../../focus";
import "./engine_choice.css";
import { type EngineStyles, lineSample } from "../../theme";
import { widget } from "../../widget";

interface Row {
  name: string;
  description: string;
  ok: boolean;
  /** Why it cannot be chosen, in a sentence. */
  reason: string;
  /** The command that mends it; may be empty. */
  remedy: string;
}

interface Traits {
  label: string;
  rows: Row[];
  /** Names of the chosen engines. */
  value: string[];
  disabled: boolean;
  /** The style of each engine's line. */
  engine_styles: EngineStyles;
}

function render({ model, el }: RenderProps<Traits>): void {
  const title = element("div", { id: freshId("engines"), class: "wb-field-label" });
  const group = element("div", { role: "group", "aria-labelledby": title.id });
  el.classList.add("wb", "wb-engine-choice");
  el.append(title, group);

  // Clicks go as messages: a change of a trait waits for the one before, and Train would overtake it.
  const choose = (name: string, chosen: boolean) => model.send({ kind: "choose", name, chosen });

  const rebuild = () => {
    title.textContent = model.get("label");
    group.replaceChildren(
      ...model.get("rows").map((row) => {
        const detail = element("span", { id: freshId("detail"), class: "wb-engine-detail" });
        detail.append(row.ok ? row.description : row.reason);
        if (!row.ok && row.remedy) detail.append(" ", element("code", {}, row.remedy));
        const box = element("input", {
          type: "checkbox",
          id: freshId("engine"),
          value: row.name,
          "data-key": row.name,
          "aria-describedby": detail.id,
        });
        box.addEventListener("change", () => choose(row.name, box.checked));
        const name = element("label", { for: box.id }, row.name);
        const sample = lineSample(model.get("engine_styles")[row.name]);
        const line = element("div", { class: "wb-engine" }, box, name, sample, detail);
        line.classList.toggle("wb-unavailable", !row.ok);
        return line;
      }),
    );
    update();
  };

  const update = () => {
    const available = new Map(model.get("rows").map((row) => [row.name, row.ok]));
    for (const box of group.querySelectorAll("input")) {
      box.checked = model.get("value").includes(box.value);
      box.disabled = model.get("disabled") || !available.get(box.value);
    }
  };

  model.on("change:rows", () => keepFocus(group, rebuild));
  model.on("change:value", update);
  model.on("change:disabled", update);
  rebuild();
}

export default widget({ render });
