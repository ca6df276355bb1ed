// Writes the trained model where the user says.

import { element, freshId } from "../../element";
import { enterSubmits } from "../parts/enter_submits";
import { ask, type Sender } from "../parts/pad_model";
import { type Problem, problemArea } from "../parts/problem_area";

interface Exported extends Problem {
  ready: boolean;
  export_path: string;
  exported: string;
}

interface ExportedModel extends Sender {
  get<Name extends keyof Exported>(name: Name): Exported[Name];
  on(event: string, listener: () => void): void;
}

export function exportSection(model: ExportedModel): HTMLElement {
  const field = element("input", { type: "text", id: freshId("path"), spellcheck: "false" });
  field.value = model.get("export_path");
  enterSubmits(field);
  const button = element("button", { type: "submit" }, "Export");
  const form = element(
    "form",
    {},
    element("label", { class: "wb-field-label", for: field.id }, "Export the model to"),
    element("div", { class: "wb-row" }, field, button),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(model, { kind: "export", path: field.value.trim() });
  });
  const written = element("p", { class: "wb-exported", role: "status" });
  const root = element("section", { class: "wb-export-area", "aria-label": "Export" }, form, problemArea(model, "export"), written);
  const update = () => {
    root.hidden = !model.get("ready");
    written.textContent = model.get("exported");
  };
  for (const trait of ["ready", "exported"]) model.on(`change:${trait}`, update);
  update();
  return root;
}
