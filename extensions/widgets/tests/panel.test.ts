import { beforeEach, describe, expect, it, vi } from "vitest";
import { horizontalAxis, type StepName } from "../src/charts/axis";
import { Panel } from "../src/charts/panel";
import { ViewState } from "../src/charts/view_state";
import { plots } from "./plots";
import { look, part, storeOf } from "./points";

vi.mock("uplot", () => import("./plots"));

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
  const sized = (width: number, height: number) => {
    Object.defineProperty(panel.surface, "clientWidth", { value: width, configurable: true });
    Object.defineProperty(panel.surface, "clientHeight", { value: height, configurable: true });
  };

  beforeEach(() => {
    plots.length = 0;
    stepName = "step";
    const store = storeOf(part("fake", 0, [3, 2, 1], { metric: { title: "Accuracy", unit: "%" } }));
    state = new ViewState(store, {
      curves: () => [look("fake")],
      totalSteps: () => 3,
      hint: () => "",
      axis: () => "step",
      stepName: () => stepName,
      smoothing: () => 0,
      scaleOf: () => "auto",
      hidden: () => [],
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
    const table = (of: Panel) => of.root.querySelector("table") as HTMLTableElement;
    for (const each of [empty, panel]) {
      each.showTable(true);
      each.describe();
    }
    expect([table(empty).hidden, table(panel).hidden]).toEqual([true, false]);
    panel.showTable(false);
    expect(table(panel).hidden).toBe(true);
  });
});
