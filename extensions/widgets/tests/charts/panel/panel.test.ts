import { beforeEach, describe, expect, it, vi } from "vitest";
import { type AxisName, horizontalAxis, type StepName } from "../../../src/charts/series/axis";
import { Panel } from "../../../src/charts/panel/panel";
import { ViewState } from "../../../src/charts/panel/view_state";
import { plots, present } from "../plots";
import { CONTEXT, look, part, storeOf } from "../points";

vi.mock("uplot", () => import("../plots"));

const nothing = () => {};
const listener = {
  onPoint: nothing,
  onSelect: nothing,
  onWindow: nothing,
  onReset: nothing,
  onToggle: nothing,
  onHighlight: nothing,
  onScale: nothing,
  onRead: nothing,
};

describe("a chart", () => {
  let panel: Panel;
  let state: ViewState;
  let stepName: StepName;
  let axis: AxisName;
  let evaluates: boolean;
  const sized = (width: number, height: number) => {
    Object.defineProperty(panel.surface, "clientWidth", { value: width, configurable: true });
    Object.defineProperty(panel.surface, "clientHeight", { value: height, configurable: true });
  };

  beforeEach(() => {
    plots.length = 0;
    stepName = "step";
    axis = "step";
    evaluates = false;
    const store = storeOf(part("fake", 0, [3, 2, 1], { metric: { title: "Accuracy", unit: "%" } }));
    state = new ViewState(store, {
      ...CONTEXT,
      curves: () => [look("fake")],
      totalSteps: () => 3,
      evaluates: () => evaluates,
      hint: () => "Loading.",
      axis: () => axis,
      stepName: () => stepName,
    });
    panel = new Panel("loss", state, listener);
    document.body.replaceChildren(panel.root);
  });

  it("of a metric is shown for steps, and not for rounds, which have charts of their own", () => {
    const metric = new Panel("metric", state, listener);
    metric.place();
    expect(metric.root.hidden).toBe(false);
    stepName = "round";
    metric.place();
    expect(metric.root.hidden).toBe(true);
    expect(horizontalAxis("step", stepName).label).toBe("round");
    expect(horizontalAxis("time", stepName).label).toBe("time in training");
  });

  it("of a metric has its place before the first evaluation, where one will follow", () => {
    state = new ViewState(storeOf(part("fake", 0, [3])), state.context);
    const metric = new Panel("metric", state, listener);
    metric.place();
    expect(metric.root.hidden).toBe(true);
    evaluates = true;
    metric.place();
    expect(metric.root.hidden).toBe(false);
  });

  it("of a metric keeps its place in a run that evaluates nothing, and has none in a comparison", () => {
    state = new ViewState(storeOf(part("fake", 0, [3])), state.context);
    const metric = new Panel("metric", state, listener);
    metric.place();
    expect(metric.root.hidden).toBe(true);
    evaluates = true; // before a run it is not known whether it will
    metric.place();
    evaluates = false;
    metric.place();
    expect(metric.root.hidden).toBe(false);
    metric.describe();
    expect(metric.root.querySelector(".wb-plot-hint")?.textContent).toBe("Nothing is evaluated.");
  });

  it("of the throughput shows that of whole runs, and at the cursor that of the last steps", () => {
    const rates = { fake: 40 };
    state = new ViewState(state.store, { ...state.context, rates: () => rates, ratesNote: () => "median of rounds" });
    const chart = new Panel("throughput", state, listener);
    const text = (name: string) => chart.root.querySelector(name)?.textContent;
    chart.describe();
    expect(text(".wb-legend-value")).toBe("40.0");
    expect(text(".wb-unit")).toBe("samples/s, median of rounds");
    const label = () => chart.surface.getAttribute("aria-label");
    expect(label()).toBe("Throughput in samples per second, median of rounds: fake 40.0");
    state.cursor = 2;
    chart.point();
    expect(text(".wb-legend-value")).toBe("32.0");
    expect(text(".wb-unit")).toBe("samples/s, mean of the last 10 steps");
    expect(label()).toBe("Throughput in samples per second at step 2: fake 32.0");
    state.cursor = null;
    chart.showTable(true);
    expect(text(".wb-unit")).toBe("samples/s, mean of the last 10 steps");
  });

  it("of which a part is shown has the values at its end, until it is pointed at", () => {
    const shown = () => {
      panel.describe();
      return panel.root.querySelector(".wb-legend-value")?.textContent;
    };
    expect(shown()).toBe("1.0000");
    state.window = [1, 2];
    expect(shown()).toBe("2.0000");
    expect(panel.surface.getAttribute("aria-label")).toContain("at step 2: fake 2.0000");
    state.cursor = 1;
    expect(shown()).toBe("3.0000");
  });

  it("of the loss says which curves look like one", () => {
    const losses = Array.from({ length: 12 }, (_, index) => 1 / (index + 1));
    const other = losses.map((loss) => loss + 0.1);
    const parts = [part("a", 0, losses), part("b", 0, losses.map((loss) => loss + 1e-6)), part("c", 0, other)];
    let hidden: string[] = [];
    const curves = () => ["a", "b", "c"].map((key) => look(key));
    state = new ViewState(storeOf(...parts), { ...state.context, curves, hidden: () => hidden });
    const chart = new Panel("loss", state, listener);
    const text = () => {
      chart.describe();
      return chart.root.querySelector(".wb-coincident")?.textContent;
    };
    expect(text()).toBe("2 of 3 coincide");
    hidden = ["c"];
    expect(text()).toBe("curves coincide");
    hidden = ["a"];
    expect(text()).toBe("");
    // As they are drawn: by time the same steps lie apart, and a logarithm shows small differences.
    hidden = ["c"];
    axis = "time";
    expect(text()).toBe("");
    axis = "samples";
    expect(text()).toBe("curves coincide");
  });

  it("of the loss does not compare what is not drawn", () => {
    const diverged = Array.from({ length: 20 }, () => NaN);
    const curves = () => ["a", "b"].map((key) => look(key));
    state = new ViewState(storeOf(part("a", 0, diverged), part("b", 0, diverged)), { ...state.context, curves });
    const chart = new Panel("loss", state, listener);
    chart.describe();
    expect(chart.root.querySelector(".wb-coincident")?.textContent).toBe("");
  });

  it("of the loss says how far curves look like one where one is ahead", () => {
    const losses = Array.from({ length: 22 }, (_, index) => 1 / (index + 1));
    const curves = () => ["a", "b"].map((key) => look(key));
    state = new ViewState(storeOf(part("a", 0, losses), part("b", 0, losses.slice(0, 21))), { ...state.context, curves });
    const chart = new Panel("loss", state, listener);
    const text = () => {
      chart.describe();
      return chart.root.querySelector(".wb-coincident")?.textContent;
    };
    expect(text()).toBe("curves coincide up to step 21");
    state.window = [2, 19];
    expect(text()).toBe("curves coincide");
  });

  it("of the loss compares curves as they are drawn", () => {
    const falls = (floor: number) => Array.from({ length: 60 }, (_, index) => Math.max(floor, 2.3 * 0.7 ** index));
    let scale = "linear";
    const curves = () => ["a", "b"].map((key) => look(key));
    const store = storeOf(part("a", 0, falls(0.001)), part("b", 0, falls(0.01)));
    state = new ViewState(store, { ...state.context, curves, scaleOf: () => scale });
    const chart = new Panel("loss", state, listener);
    const text = () => {
      chart.describe();
      return chart.root.querySelector(".wb-coincident")?.textContent;
    };
    expect(text()).toBe("curves coincide");
    state.window = [30, 60];
    expect(text()).toBe("");
    state.window = null;
    scale = "log";
    expect(text()).toBe("");
  });

  it("of the throughput has a dash for a run that ended in its warm-up", () => {
    const curves = () => ["a", "b"].map((key) => look(key));
    state = new ViewState(storeOf(part("a", 0, [3, 2, 1]), part("b", 0, [3])), {
      ...state.context, curves, rates: () => ({ a: 40, b: null }), ratesNote: () => "mean of the run",
    });
    const chart = new Panel("throughput", state, listener);
    chart.describe();
    const values = [...chart.root.querySelectorAll(".wb-legend-value")].map((value) => value.textContent);
    expect(values).toEqual(["40.0", "–"]);
  });

  it("of the throughput shows that of the last steps of a run in progress beside whole runs", () => {
    const curves = () => ["a", "b"].map((key) => look(key));
    state = new ViewState(storeOf(part("a", 0, [3, 2, 1]), part("b", 0, [3])), {
      ...state.context, curves, rates: () => ({ a: 40 }), ratesNote: () => "mean of the run",
    });
    const chart = new Panel("throughput", state, listener);
    chart.describe();
    const values = [...chart.root.querySelectorAll(".wb-legend-value")].map((value) => value.textContent);
    expect(values).toEqual(["40.0", "32.0"]);
    const unit = chart.root.querySelector(".wb-unit")?.textContent;
    expect(unit).toBe("samples/s, mean of the run; in progress: mean of the last 10 steps");
  });

  it("of the loss says what is waited for, and the others do not repeat it", () => {
    state = new ViewState(storeOf(), state.context);
    const hints = (["loss", "throughput"] as const).map((metric) => {
      const waiting = new Panel(metric, state, listener);
      waiting.describe();
      expect(waiting.root.querySelector(".wb-waiting")).not.toBeNull();
      return waiting.root.querySelector(".wb-plot-hint")?.textContent;
    });
    expect(hints).toEqual(["Loading.", ""]);
  });

  it("of a metric says that nothing is evaluated yet, with no axes of nothing", () => {
    evaluates = true;
    const metric = new Panel("metric", state, listener);
    metric.describe();
    expect(metric.root.querySelector(".wb-waiting .wb-plot-hint")?.textContent).toBe("Nothing is evaluated yet.");
  });

  it("that is hidden while the theme changes has its size when it is shown again", () => {
    sized(400, 200);
    panel.draw();
    sized(0, 0);
    panel.rebuild();
    sized(400, 200);
    panel.place();
    panel.draw();
    expect(plots.at(-1)).toMatchObject({ width: 400, height: 200 });
  });

  it("whose room has changed silently has its size at the next draw", () => {
    sized(400, 200);
    panel.draw();
    sized(300, 150);
    panel.place();
    expect(plots).toMatchObject([{ width: 300, height: 150 }]);
  });

  it("has a title of its horizontal axis where it is high enough, also once it is", () => {
    for (const height of [200, 90, 200]) {
      sized(400, height);
      panel.place();
      panel.draw();
    }
    expect(plots.map(({ axes }) => axes[0]?.label)).toEqual(["step", undefined, "step"]);
  });

  it("says where it is pointed at, beside what would cover that", () => {
    const pointed = () => panel.root.classList.contains("wb-pointed");
    expect(pointed()).toBe(false);
    state.cursor = 2;
    panel.point();
    expect(pointed()).toBe(true);
    state.cursor = null;
    panel.point();
    expect(pointed()).toBe(false);
  });

  it("is drawn anew in a presentation, larger by its zoom, which is undone for it", () => {
    sized(400, 200);
    for (const zoom of [1, 1.3, 1]) {
      present(zoom);
      panel.place();
      panel.draw();
      expect(plots.at(-1)).toMatchObject({ width: 400 * zoom, height: 200 * zoom });
    }
    expect(plots.map(({ axes }) => axes[0]?.font.split(" ")[0])).toEqual(["11px", "14px", "11px"]);
  });

  it("that shows nothing new leaves the page as it is", async () => {
    sized(400, 200);
    panel.place();
    panel.draw();
    panel.describe();
    const seen: MutationRecord[] = [];
    const observer = new MutationObserver((records) => seen.push(...records));
    observer.observe(panel.root, { subtree: true, childList: true, attributes: true, characterData: true });
    panel.place();
    panel.draw();
    panel.describe();
    seen.push(...observer.takeRecords());
    expect(seen).toEqual([]);
  });

  it("is a table only once there is something in it", () => {
    const empty = new Panel("loss", new ViewState(storeOf(part("fake", 0, [])), state.context), listener);
    const table = (of: Panel) => of.root.querySelector(".wb-point-scroll") as HTMLElement;
    for (const each of [empty, panel]) {
      each.showTable(true);
      each.describe();
    }
    expect([table(empty).hidden, table(panel).hidden]).toEqual([true, false]);
    expect(table(panel).getAttribute("aria-label"), "it may have to be scrolled").toBe("Table of Loss");
    panel.showTable(false);
    expect(table(panel).hidden).toBe(true);
  });
});
