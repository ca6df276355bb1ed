import { describe, expect, it } from "vitest";
import { PanelReadings } from "../../../src/charts/panel/panel_readings";
import { ViewState } from "../../../src/charts/panel/view_state";
import { CONTEXT, look, part, storeOf } from "../points";

describe("the mark of an incident", () => {
  const incidents = [{ kind: "not_finite" as const, step: 2, text: "loss not finite at step 2" }];
  const store = storeOf(part("pytorch", 0, [3, NaN], { incidents }), part("ondevice", 0, [3, NaN], { incidents }));
  const textsOf = (...shown: string[]) => {
    const readings = new PanelReadings("loss", new ViewState(store, { ...CONTEXT, curves: () => shown.map((key) => look(key)) }));
    return shown.flatMap((key) => readings.marksOf(key)).map(({ texts }) => texts[0]);
  };

  it("names its curve where there are several", () => {
    expect(textsOf("pytorch")).toEqual(["not finite, step 2"]);
    expect(textsOf("pytorch", "ondevice")).toEqual(["pytorch not finite, step 2", "ondevice not finite, step 2"]);
  });
});

describe("the value of a metric past the end of a curve", () => {
  it("has the step of its evaluation, not that of the last step", () => {
    const losses = Array.from({ length: 10 }, () => 1);
    const stopped = part("stopped", 0, losses.slice(0, 7), { evaluations: [[4, 0.5, 90]] });
    const store = storeOf(part("whole", 0, losses, { evaluations: [[4, 0.5, 90], [8, 0.4, 95]] }), stopped);
    const state = new ViewState(store, { ...CONTEXT, curves: () => [look("whole"), look("stopped")] });
    const metric = new PanelReadings("metric", state);
    const loss = new PanelReadings("loss", state);
    expect([metric.valueText("whole"), metric.valueText("stopped")]).toEqual(["95.0", "90.0"]);
    expect(loss.valueText("stopped")).toBe("1.0000 at step 7, test 0.5000");
    state.pointAt(9);
    expect([metric.valueText("whole"), metric.valueText("stopped")]).toEqual(["95.0", "90.0 at step 4"]);
  });
});

describe("curves that look like one", () => {
  it("are told up to where the shorter ends, however far the other goes on", () => {
    const losses = Array.from({ length: 40 }, (_, at) => 1 / (at + 1));
    const store = storeOf(part("ahead", 0, losses), part("behind", 0, losses.slice(0, 12)), part("third", 0, losses.slice(0, 12)));
    const state = new ViewState(store, { ...CONTEXT, curves: () => ["ahead", "behind", "third"].map((key) => look(key)) });
    expect(new PanelReadings("loss", state).coincidenceText(false)).toBe("curves coincide up to step 12");
  });
});
