import { beforeEach, describe, expect, it } from "vitest";
import { PanelReadings } from "../../../src/charts/panel/panel_readings";
import { ViewState } from "../../../src/charts/panel/view_state";
import type { AxisName } from "../../../src/charts/series/axis";
import { CONTEXT, look, part, storeOf } from "../points";

describe("the window, where another axis is chosen,", () => {
  const losses = Array.from({ length: 100 }, () => 1);
  let axis: AxisName;
  let state: ViewState;

  function zoomed(window: [number, number] | null, ...keys: string[]): void {
    axis = "step";
    // Steps of one second, and of ten.
    state = new ViewState(storeOf(part("fast", 0, losses), part("slow", 0, losses, { seconds: 10 })), {
      ...CONTEXT,
      curves: () => keys.map((key) => look(key)),
      totalSteps: () => 100,
      axis: () => axis,
    });
    state.window = window;
  }
  function choose(name: AxisName): [number, number] | null {
    const before = axis;
    axis = name;
    state.changeAxis(before);
    return state.window;
  }

  it("shows the same steps", () => {
    zoomed([40, 60], "fast");
    expect(choose("samples")).toEqual([1280, 1920]);
    expect(choose("time")).toEqual([40, 60]);
    expect(choose("step")).toEqual([40, 60]);
  });

  it("shows those of every curve, and does not grow as the axis goes to and fro", () => {
    zoomed([40, 60], "fast", "slow");
    expect(choose("time")).toEqual([40, 600]);
    expect(choose("step")).toEqual([40, 60]);
    expect(choose("time")).toEqual([40, 600]);
  });

  it("is taken as it is once it was moved there", () => {
    zoomed([40, 60], "slow");
    choose("time");
    state.window = [100, 300];
    expect(choose("step")).toEqual([10, 30]);
  });

  it("remains all of the axis where nothing was zoomed, and is that where no curve is shown", () => {
    zoomed(null, "fast");
    expect(choose("time")).toBeNull();
    zoomed([40, 60]);
    expect(choose("time")).toBeNull();
  });
});

describe("the curves that are drawn", () => {
  const solid = look("solid");
  const dashed = look("dashed", [9, 3]);
  let hidden: string[];
  let state: ViewState;

  beforeEach(() => {
    hidden = [];
    state = new ViewState(storeOf(part("solid", 0, [1]), part("dashed", 0, [1])), {
      ...CONTEXT,
      curves: () => [dashed, solid],
      hidden: () => hidden,
    });
  });

  it("have dashes above solid lines, so that both are seen where they coincide", () => {
    expect(state.drawingOrder).toEqual([solid, dashed]);
    expect(state.shown).toEqual([dashed, solid]);
  });

  it("step back behind the one that is highlighted, but not behind one that is hidden", () => {
    const faded = () => [solid, dashed].filter(({ key }) => state.isFaded(key)).map(({ key }) => key);
    expect(faded()).toEqual([]);
    state.highlighted = "dashed";
    expect(faded()).toEqual(["solid"]);
    hidden = ["dashed"];
    expect(faded()).toEqual([]);
  });

  it("do not step back behind one that has no point yet", () => {
    state = new ViewState(storeOf(part("solid", 0, [1])), { ...CONTEXT, curves: () => [dashed, solid] });
    state.highlighted = "dashed";
    expect(state.isFaded("solid")).toBe(false);
    state.highlighted = "solid";
    expect(state.isFaded("dashed")).toBe(true);
  });
});

describe("the axis of time", () => {
  let hidden: string[];
  let state: ViewState;

  beforeEach(() => {
    hidden = [];
    // Steps of one second, and of thirty.
    state = new ViewState(storeOf(part("fast", 0, [1, 1]), part("slow", 0, [1, 1], { seconds: 30 })), {
      ...CONTEXT,
      curves: () => [look("fast"), look("slow")],
      axis: () => "time",
      hidden: () => hidden,
    });
  });

  it("ends with the curves that are shown, or with all where none is", () => {
    expect(state.range).toEqual([0, 60]);
    hidden = ["slow"];
    expect(state.range).toEqual([0, 2]);
    hidden = ["fast", "slow"];
    expect(state.range).toEqual([0, 60]);
  });

  it("stays where it was zoomed when a curve is hidden, and moves from there", () => {
    state.window = [20, 40];
    hidden = ["slow"];
    expect(state.range).toEqual([20, 40]);
    state.zoom(30, 0.5);
    expect(state.range).toEqual([25, 35]);
    state.pan(-5);
    expect(state.range).toEqual([20, 30]);
    state.zoom(30, 4);
    expect(state.range).toEqual([0, 2]);
  });
});

describe("the steps of a window", () => {
  it("are those of the curves that reach it, on any axis", () => {
    const losses = Array<number>(100).fill(1);
    let axis: AxisName = "step";
    const context = { ...CONTEXT, axis: () => axis, curves: () => [look("fast"), look("slow")] };
    const state = new ViewState(storeOf(part("fast", 0, losses, { seconds: 0.02 }), part("slow", 0, losses, { seconds: 0.1 })), context);
    expect(state.windowSteps).toBeNull();
    state.select([40, 60]);
    expect(state.windowSteps).toEqual([40, 60]);
    axis = "time";
    state.select([3, 4]); // the fast one has ended at 2 s
    expect(state.windowSteps?.map(Math.round)).toEqual([30, 40]);
    state.select([1, 4]);
    expect(state.windowSteps?.map(Math.round)).toEqual([10, 100]);
  });
});

describe("a value", () => {
  it("past the end of its run names the step that it is of", () => {
    let axis: AxisName = "step";
    const state = new ViewState(storeOf(part("short", 0, [3, 2]), part("long", 0, [3, 2, 1, 0.5])), {
      ...CONTEXT,
      axis: () => axis,
      curves: () => [look("short"), look("long")],
    });
    const readings = new PanelReadings("loss", state);
    const values = () => ["short", "long"].map((key) => readings.valueText(key));
    expect(values()).toEqual(["2.0000 at step 2", "0.5000"]);
    expect(readings.sentence).toContain("at step 4: short 2.0000 at step 2, long 0.5000");
    const bare = () => ["short", "long"].map((key) => readings.valueText(key, false));
    expect(bare()).toEqual(["2.0000", "0.5000"]);
    state.pointAt(2);
    expect(values()).toEqual(["2.0000", "2.0000"]);
    expect(bare()).toEqual(values());
    state.pointAt(3);
    expect(values()).toEqual(["2.0000 at step 2", "1.0000"]);
    expect(bare(), "there is no value at that step").toEqual(["–", "1.0000"]);
    axis = "time";
    state.pointAt(2.5);
    expect(values()).toEqual(["2.0000 at step 2", "2.0000"]);
    state.pointAt(9);
    expect([state.cursor, ...values()]).toEqual([4, "2.0000 at step 2", "0.5000"]);
    axis = "samples";
    state.pointAt(64);
    expect(values()).toEqual(["2.0000", "2.0000"]);
  });

  it("has room before the first one comes, and that of a test loss where one will follow", () => {
    const rooms = (evaluates: boolean, ...losses: number[]) => {
      const context = { ...CONTEXT, evaluates: () => evaluates, curves: () => [look("run")] };
      const state = new ViewState(storeOf(part("run", 0, losses)), context);
      return (["loss", "metric"] as const).map((metric) => new PanelReadings(metric, state).longestText("run"));
    };
    const [loss, test] = ["0.1234", ", test 0.1234"].map(({ length }) => length) as [number, number];
    expect(rooms(false)).toEqual([loss, loss]);
    expect(rooms(true)).toEqual([loss + test, loss]);
    expect(rooms(true, 3)).toEqual([loss + test, loss]);
  });

  it("has room for its step in a run of several, whichever is behind", () => {
    const rooms = (first: number, second: number) => {
      const parts = [part("a", 0, Array<number>(first).fill(1)), part("b", 0, Array<number>(second).fill(1))];
      const context = { ...CONTEXT, totalSteps: () => 2000, curves: () => [look("a"), look("b")] };
      const readings = new PanelReadings("memory", new ViewState(storeOf(...parts), context));
      return ["a", "b"].map((key) => readings.longestText(key));
    };
    const room = "1234.5 at step 2,000".length;
    for (const [first, second] of [[0, 0], [3, 0], [3, 5], [8, 5]] as const) expect(rooms(first, second)).toEqual([room, room]);
  });

  it("has room for its longest text before that is shown", () => {
    const tested = { evaluations: [[2, 10, 50]] as [number, number, number][] };
    const parts = [part("short", 0, [300, 2], tested), part("long", 0, [3, 2, 1e-5, 0.5])];
    const state = new ViewState(storeOf(...parts), { ...CONTEXT, curves: () => [look("short"), look("long")] });
    const readings = new PanelReadings("loss", state);
    expect(readings.longestText("short")).toBe("300.0000, test 10.0000 at step 2".length);
    expect(readings.longestText("short", false)).toBe("300.0000, test 10.0000".length);
    expect(readings.longestText("long")).toBe("1.00e-05".length);
  });

  it("says over about how many steps a loss is smoothed", () => {
    const state = new ViewState(storeOf(part("a", 0, [3, 2])), { ...CONTEXT, curves: () => [look("a")], smoothing: () => 20 });
    expect(new PanelReadings("loss", state).text).toMatchObject({
      spoken: "Loss, mean over about 20 steps",
      unit: "mean over about 20 steps",
    });
  });
});

describe("the cursor", () => {
  it("is on the nearest step, or anywhere in time", () => {
    let axis: AxisName = "step";
    const state = new ViewState(storeOf(), { ...CONTEXT, curves: () => [], axis: () => axis });
    expect([59.97, 60.4, null].map((x) => [state.pointAt(x), state.cursor])).toEqual([
      [true, 60],
      [false, 60],
      [true, null],
    ]);
    axis = "time";
    state.pointAt(1.25);
    expect(state.cursor).toBe(1.25);
  });
});
