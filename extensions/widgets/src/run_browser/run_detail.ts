// One run that was opened: facts, settings, failure. Its charts follow.

import type { RenderProps } from "@anywidget/types";
import { element } from "../element";
import { keepFocus } from "../focus";
import { unbroken } from "../number_format";
import "./run_detail.css";
import { widget } from "../widget";

interface Traits {
  run_id: string;
  /** Whether there is a button to go back to how the run was started. */
  restorable: boolean;
  /** Empty: nothing is open. */
  heading: string;
  /** How often a run was opened. */
  opened: number;
  /** Pairs of a name and a value. */
  facts: string[][];
  /** Pairs of a setting and its value. */
  settings: string[][];
  /** Why the run failed or was interrupted. */
  problem: string;
  traceback: string;
}

function pairs(title: string, facts: string[][]): HTMLElement[] {
  if (facts.length === 0) return [];
  const items = facts.flatMap(([name = "", value = ""]) => [element("dt", {}, name), element("dd", {}, unbroken(value))]);
  return [element("section", {}, element("h3", {}, title), element("dl", {}, ...items))];
}

function render({ model, el }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-run-detail");
  el.dataset["lmSuppressShortcuts"] = "true";
  const closeRun = () => {
    model.set("heading", "");
    model.save_changes();
  };
  const closeByKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented || el.hidden) return;
    if (event.target instanceof HTMLInputElement && event.target.type === "search" && event.target.value !== "") return; // it is emptied
    event.stopPropagation(); // it ends a presentation, too
    closeRun();
  };
  el.addEventListener("keydown", closeByKey);
  let shown = "";
  let opened = model.get("opened");
  const update = () => {
    const heading = model.get("heading");
    el.hidden = heading === "";
    if (heading === "") {
      el.replaceChildren();
      shown = "";
      return;
    }
    const close = element("button", { type: "button", class: "wb-toggle" }, "Close");
    close.addEventListener("click", closeRun);
    const restore = element("button", { type: "button", class: "wb-toggle" }, "Use its settings");
    restore.title = "Choose its model, data and settings again, and show it in the step Train";
    restore.hidden = !model.get("restorable");
    restore.addEventListener("click", () => model.send({ kind: "restore" }));
    const title = element("h2", { tabindex: "-1", title: heading }, heading);
    const trace = model.get("traceback");
    const problem = model.get("problem");
    const texts = [
      ...pairs("Run", model.get("facts")),
      ...pairs("Settings that differ from their defaults", model.get("settings")),
    ];
    el.replaceChildren(
      element("div", { class: "wb-run-detail-head" }, title, restore, close),
      ...(problem ? [element("p", { class: "wb-notice wb-run-failure", "data-outcome": "error" }, problem)] : []),
      ...(trace ? [element("details", {}, element("summary", {}, "Traceback"), element("pre", {}, trace))] : []),
      ...(texts.length ? [element("div", { class: "wb-run-facts-columns" }, ...texts)] : []),
    );
    if (opened !== model.get("opened") && (shown !== "" || document.activeElement?.closest(".wb-run-table"))) {
      // Below a long list only its heading would be seen, at the edge of the window.
      const low = title.getBoundingClientRect().top > 0.6 * window.innerHeight;
      title.scrollIntoView({ block: low ? "center" : "nearest" });
      title.focus({ preventScroll: true }); // keys would go on in a list that is out of view
    }
    shown = heading;
    opened = model.get("opened");
    // From its charts and from the list as well. Once: it is the same each time.
    el.closest<HTMLElement>(".wb-run-browser")?.addEventListener("keydown", closeByKey);
  };
  let due = false;
  // The traits of a run arrive together, but their changes are reported one by one.
  model.on("change", () => {
    if (due) return;
    due = true;
    queueMicrotask(() => {
      due = false;
      const grid = el.closest(".wb-run-browser")?.querySelector<HTMLElement>(".wb-run-grid");
      keepFocus(el, update, () => grid);
      // The charts disappear, too, once the kernel has answered.
      if (el.hidden && el.closest(".wb-open-run")?.contains(document.activeElement)) grid?.focus({ preventScroll: true });
      // Back in the list, its row is seen again.
      const row = grid && document.activeElement === grid ? document.getElementById(grid.getAttribute("aria-activedescendant") ?? "") : null;
      if (el.hidden) row?.scrollIntoView({ block: "center" });
    });
  });
  update();
}

export default widget({ render });
