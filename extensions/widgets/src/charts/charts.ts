// Live charts of loss, throughput, memory and an evaluation metric, one line for each run.
//
// The kernel sends what is new a few times a second; a view that (re)connects asks for everything.
// All charts share one cursor and one window, so that a step can be read across them.

import type { AnyModel, RenderProps } from "@anywidget/types";
import "uplot/dist/uPlot.min.css";
import "./charts.css";
import { widget } from "../widget";
import type { AxisName } from "./series/axis";
import { DetailLoader } from "./detail";
import { download } from "../download";
import { isKernelGone } from "../app/kernel";
import { element, setText } from "../element";
import { cancelDraw, drawSoon } from "../frame";
import { followGestures } from "./gestures";
import { METRICS } from "./series/line";
import { Panel } from "./panel/panel";
import type { PanelListener } from "./panel/panel_listener";
import { type DetailMessage, type PointsMessage, SeriesStore } from "./series/series_store";
import { runNames } from "./run_names";
import { followOverflow } from "../scroll_region";
import { guardKeys } from "../app/page_keys";
import { onThemeChange } from "../theme";
import { settingsLink } from "../app/settings_link";
import { Toolbar } from "./toolbar";
import { fillValuesTable } from "./values_table";
import { ViewState } from "./panel/view_state";

interface CurveTrait {
  /** Names the curve in messages. */
  key: string;
  label: string;
  /** Model, engine and id of the run. */
  detail: string;
  color: string;
  dark_color: string;
  dash: number[];
}

interface Traits {
  /** The curves in the order in which they are drawn. */
  curves: CurveTrait[];
  /** Steps that the run shown will take; 0 while that is not known. */
  total_steps: number;
  /** Whether evaluations will follow: their chart has its place before the first. */
  evaluates: boolean;
  /** Text while there is nothing to show. */
  hint: string;
  /** What else is to be known of the curves, in a sentence; empty: nothing. */
  caption: string;
  /** How far the throughputs can be trusted; below the charts, which stay where they are. Empty: nothing. */
  remark: string;
  /** Throughput of each whole run in samples/s; null: it has none. None of runs in progress. */
  rates: Record<string, number | null>;
  /** What `rates` are, such as "median of rounds". */
  rates_note: string;
  axis: "step" | "time" | "samples";
  /** Name of a step; "round" for a federated run, whose rounds other charts also show. */
  step_name: "step" | "round";
  /** Steps over which curves are smoothed; 0: not. */
  smoothing: number;
  /** By panel "auto", "linear" or "log". */
  scales: Record<string, string>;
  /** Keys of the curves that are not shown. */
  hidden: string[];
  /** The part of the axis that is shown; empty: all of it. */
  window: number[];
  /** Whether a table of values is shown below. */
  show_values: boolean;
}

interface FileMessage {
  kind: "file";
  id: string;
  name: string;
  /** Why there is no file; empty if there is one. */
  problem: string;
}

type Message = PointsMessage | DetailMessage | FileMessage;
type Listener = (message: Message, buffers: DataView[]) => void;

/** Milliseconds after the last zoom after which the kernel hears of it. */
const SETTLED = 250;

export default () => {
  const store = new SeriesStore();
  const views = new Set<Listener>();

  function initialize({ model }: { model: AnyModel<Traits> }): void {
    model.on("msg:custom", (message: Message, buffers: DataView[]) => {
      if (message.kind === "points" && !store.apply(message, buffers)) model.send({ kind: "sync" });
      if (message.kind === "detail") store.applyDetail(message, buffers);
      for (const listener of views) listener(message, buffers);
    });
    model.send({ kind: "sync" });
  }

  function render({ model, el, signal }: RenderProps<Traits>): void {
    el.classList.add("wb", "wb-charts");
    guardKeys();
    const state = new ViewState(store, {
      curves: () => model.get("curves"),
      totalSteps: () => model.get("total_steps"),
      evaluates: () => model.get("evaluates"),
      hint: () => model.get("hint"),
      rates: () => model.get("rates"),
      ratesNote: () => model.get("rates_note"),
      axis: () => model.get("axis"),
      stepName: () => model.get("step_name"),
      smoothing: () => model.get("smoothing"),
      scaleOf: (panel) => model.get("scales")[panel] ?? "auto",
      hidden: () => model.get("hidden"),
    });
    const detail = new DetailLoader(state, (request) => model.send(request));
    const set = <Name extends keyof Traits & string>(name: Name, value: Traits[Name]) => {
      model.set(name, value);
      model.save_changes();
    };

    let settling = 0;
    const windowChanged = () => {
      draw();
      window.clearTimeout(settling);
      settling = window.setTimeout(() => set("window", [...(state.window ?? [])]), SETTLED);
    };
    const reset = () => {
      state.window = null;
      windowChanged();
    };
    let pointed = 0;
    const spoken = element("div", { class: "wb-spoken", "aria-live": "polite" });
    const listener: PanelListener = {
      onPoint: (x) => {
        if (!state.pointAt(x)) return;
        pointed ||= requestAnimationFrame(() => {
          pointed = 0;
          panels.forEach((panel) => panel.point());
          if (model.get("show_values")) fillValuesTable(values, state);
        });
      },
      onSelect: (range) => {
        state.select(range);
        windowChanged();
      },
      onWindow: windowChanged,
      onReset: reset,
      onToggle: (key) => {
        const hidden = model.get("hidden");
        const without = hidden.filter((each) => each !== key);
        set("hidden", without.length < hidden.length ? without : [...hidden, key]);
        draw();
      },
      onHighlight: (key) => {
        state.highlighted = key;
        draw();
      },
      onScale: (metric, scale) => {
        set("scales", { ...model.get("scales"), [metric]: scale });
        draw();
      },
      onRead: (sentence) => {
        spoken.textContent = sentence;
      },
    };
    const panels = METRICS.map((metric) => new Panel(metric, state, listener));
    for (const panel of panels) followGestures(panel, state, listener);

    let request = "";
    const toolbar = new Toolbar({
      onAxis: (axis) => {
        const before = model.get("axis");
        state.cursor = null;
        set("axis", axis);
        state.changeAxis(before);
        windowChanged();
      },
      onSmoothing: (steps) => {
        set("smoothing", steps);
        draw();
      },
      onReset: reset,
      onTable: (shown) => {
        panels.forEach((panel) => panel.showTable(shown));
        together.classList.toggle("wb-tabled", shown);
        draw();
      },
      onSave: (format) => {
        if (isKernelGone(el)) {
          toolbar.say("The file cannot be written without a kernel.");
          return;
        }
        request = Math.random().toString(36).slice(2);
        model.send({ kind: "export", id: request, format });
      },
    });
    const together = element("div", { class: "wb-panels" }, ...panels.map((panel) => panel.root));
    const caption = element("p", { class: "wb-notice", role: "status" });
    const remark = element("p", { class: "wb-note", role: "status" });
    const names = element("p", { class: "wb-note wb-run-names" });
    const values = element("table", { class: "wb-table wb-values-table" });
    const scroller = element("div", { class: "wb-values wb-scroll" }, values);
    followOverflow(scroller, "Values", signal);
    el.append(
      element("div", { class: "wb-section-head" }, element("h2", {}, "Charts"), settingsLink(el), toolbar.root),
      caption,
      names,
      together,
      remark,
      scroller,
      spoken,
    );

    const redraw = () => {
      // First what reads the layout of the page, then what is drawn, at last what changes the page:
      // the browser then lays it out once for all charts.
      panels.forEach((panel) => panel.place());
      const three = panels.some((panel) => panel.root.hidden);
      together.classList.toggle("wb-three", three);
      panels.forEach((panel) => panel.draw());
      panels.forEach((panel) => panel.describe());
      toolbar.nameSteps(model.get("step_name"));
      toolbar.update(model.get("axis") as AxisName, model.get("smoothing"), state.window !== null, store.lastStep);
      el.style.setProperty("--wb-curves", String(model.get("curves").length));
      setText(names, runNames(model.get("curves").filter((curve) => curve.detail)));
      setText(caption, model.get("caption"));
      caption.hidden = caption.textContent === "";
      setText(remark, model.get("remark"));
      remark.hidden = remark.textContent === "";
      const hidden = !model.get("show_values") || store.empty;
      if (scroller.hidden !== hidden) scroller.hidden = hidden;
      if (!hidden) fillValuesTable(values, state);
      detail.look();
    };
    // However fast a user is, each frame draws once; a hidden page draws nothing.
    let frame = 0;
    const draw = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        redraw();
      });
    };
    const receive: Listener = (message, buffers) => {
      if (message.kind === "detail") detail.answered(message.id);
      if (message.kind === "file" && message.id === request) {
        toolbar.say(message.problem);
        const [data] = buffers;
        if (!message.problem && data) download(message.name, data as DataView<ArrayBuffer>);
      }
      drawSoon(redraw);
    };
    views.add(receive);
    const takeWindow = () => {
      const [low, high] = model.get("window");
      state.window = low !== undefined && high !== undefined ? [low, high] : null;
      draw();
    };
    if (model.get("window").length > 0) takeWindow();
    model.on("change:window", takeWindow);
    for (const name of ["curves", "total_steps", "evaluates", "hint", "caption", "remark", "rates", "rates_note", "axis", "step_name", "smoothing", "scales", "hidden", "show_values"]) {
      model.on(`change:${name}`, draw);
    }
    onThemeChange(() => {
      panels.forEach((panel) => panel.rebuild());
      draw();
    }, signal);
    const resized = new ResizeObserver(() => {
      panels.forEach((panel) => panel.resize());
      draw();
    });
    resized.observe(el);
    // A chart becomes narrower when another one appears, while the whole keeps its size.
    for (const panel of panels) resized.observe(panel.root);
    signal.addEventListener("abort", () => {
      views.delete(receive);
      cancelAnimationFrame(frame);
      cancelAnimationFrame(pointed);
      cancelDraw(redraw);
      window.clearTimeout(settling);
      detail.destroy();
      resized.disconnect();
      panels.forEach((panel) => panel.destroy());
    });
    draw();
  }

  return widget({ initialize, render });
};
