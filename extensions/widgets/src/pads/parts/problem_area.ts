// Why the last command was refused, shown where it was given.

import { element } from "../../element";

export interface Problem {
  problem: string;
  problem_at: string;
}

interface ProblemModel {
  get<Name extends keyof Problem>(name: Name): Problem[Name];
  on(event: string, listener: () => void): void;
}

/** A paragraph that is only there while a command given at `place` is refused. */
export function problemArea(model: ProblemModel, place: string): HTMLElement {
  const shown = element("p", { class: "wb-problem", role: "alert" });
  const update = () => {
    const problem = model.get("problem_at") === place ? model.get("problem") : "";
    if (shown.textContent !== problem) shown.textContent = problem;
    shown.hidden = problem === "";
  };
  model.on("change:problem", update);
  model.on("change:problem_at", update);
  update();
  return shown;
}
