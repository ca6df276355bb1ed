// Live charts of loss, throughput and memory, one line for each engine.
//
// The kernel sends what is new a few times a second; a view that (re)connects asks for everything.
// All three charts share one cursor, so that a step can be read across them.

import type { AnyModel, RenderProps } from "@anywidget/types";
import "uplot/dist/uPlot.min.css";
import "./charts.css";
import { element } from "./element";
import { Panel } from "./panel";
import { METRICS, type PointsMessage, SeriesStore } from "./series_store";
import { onThemeChange } from "./theme";

interface Traits {
  /** Steps that the run shown will take; 0 while that is not known. */
  total_steps: number;
  /** What to say while there is nothing to show. */
  hint: string;
}

type Listener = () => void;

export default () => {
  const store = new SeriesStore();
  const views = new Set<Listener>();

  function initialize({ model }: { model: AnyModel<Traits> }): void {
    model.on("msg:custom", (message: PointsMessage, buffers: DataView[]) => {
      if (message.kind !== "points") return;
      if (!store.apply(message, buffers)) model.send({ kind: "sync" });
      for (const changed of views) changed();
    });
    model.send({ kind: "sync" });
  }

  function render({ model, el, signal }: RenderProps<Traits>): void {
    el.classList.add("wb", "wb-charts");
    const spoken = element("div", { class: "wb-spoken", "aria-live": "polite" });
    const listener = {
      onStep: (step: number | null) => panels.forEach((panel) => panel.setStep(step)),
      onRead: (sentence: string) => {
        spoken.textContent = sentence;
      },
    };
    const panels = METRICS.map(
      (metric) =>
        new Panel(metric, store, () => model.get("total_steps"), () => model.get("hint"), listener),
    );
    const twin = element("button", { type: "button", class: "wb-toggle" }, "Show as table");
    twin.setAttribute("aria-pressed", "false");
    twin.addEventListener("click", () => {
      const shown = twin.getAttribute("aria-pressed") !== "true";
      twin.setAttribute("aria-pressed", String(shown));
      panels.forEach((panel) => panel.showTable(shown));
    });
    el.append(
      element("div", { class: "wb-section-head" }, element("h2", {}, "Live"), twin),
      element("div", { class: "wb-panels" }, ...panels.map((panel) => panel.root)),
      spoken,
    );

    // However fast messages come, each frame draws once; a hidden page draws nothing.
    let frame = 0;
    const draw = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        panels.forEach((panel) => panel.draw());
      });
    };
    views.add(draw);
    model.on("change:total_steps", draw);
    model.on("change:hint", draw);
    onThemeChange(() => panels.forEach((panel) => panel.rebuild()), signal);
    const resized = new ResizeObserver(() => {
      panels.forEach((panel) => panel.resize());
      draw();
    });
    resized.observe(el);
    signal.addEventListener("abort", () => {
      views.delete(draw);
      cancelAnimationFrame(frame);
      resized.disconnect();
      panels.forEach((panel) => panel.destroy());
    });
    draw();
  }

  return { initialize, render };
};
