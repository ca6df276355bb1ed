import { describe, expect, it } from "vitest";
import { PanelReadings } from "../../../src/charts/panel/panel_readings";
import { ViewState } from "../../../src/charts/panel/view_state";
import { CONTEXT, look, part, storeOf } from "../points";

describe("the mark of an incident", () => {
  const incidents = [{ kind: "not_finite" as const, step: 2, text: "loss not finite at step 2" }];
  const store = storeOf(part("pytorch", 0, [3, NaN], { incidents }), part("ondevice", 0, [3, NaN], { incidents }));
  const textsOf = (...shown: string[]) => {
    const readings = new PanelReadings("loss", new ViewState(store, { ...CONTEXT, curves: () => shown.map((key) => look(key)) }));
    return shown.flatMap((key) => readings.marksOf(key)).map(({ text }) => text);
  };

  it("names its curve where there are several", () => {
    expect(textsOf("pytorch")).toEqual(["not finite, step 2"]);
    expect(textsOf("pytorch", "ondevice")).toEqual(["pytorch not finite, step 2", "ondevice not finite, step 2"]);
  });
});
