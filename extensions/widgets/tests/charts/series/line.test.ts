import { describe, expect, it } from "vitest";
import { wanted } from "../../../src/charts/detail";
import { type LineOptions, lineOf, readingAt, shownBlocks } from "../../../src/charts/series/line";
import type { Curve, SeriesStore } from "../../../src/charts/series/series_store";
import { ViewState } from "../../../src/charts/panel/view_state";
import { CONTEXT, look, part, storeOf } from "../points";

const all: LineOptions = { axis: "step", smoothing: 0, window: [0, 1e9] };
const curve = (store: SeriesStore) => store.curve("a") as Curve;

function withDetail(): SeriesStore {
  const store = storeOf(part("a", 0, [9, 8, 7, 6], { stride: 4 }));
  const [header, data] = part("a", 4, [5, 4, 3, 2]);
  store.applyDetail({ kind: "detail", id: "1", generation: 0, parts: [header] }, [data]);
  return store;
}

describe("a line", () => {
  it("of single steps is the loss, with the raw one behind when it is smoothed", () => {
    const store = storeOf(part("a", 0, [3, 2, 1]));
    const plain = lineOf(curve(store), "loss", all);
    expect([[...plain.x], [...plain.y], plain.raw, plain.band]).toEqual([[1, 2, 3], [3, 2, 1], null, null]);
    const smooth = lineOf(curve(store), "loss", { ...all, smoothing: 5 });
    expect([...(smooth.raw ?? [])]).toEqual([3, 2, 1]);
    expect(smooth.y[2]).toBeGreaterThan(1.5);
  });

  it("of blocks has a band from the smallest to the largest loss, so that no spike disappears", () => {
    const line = lineOf(curve(storeOf(part("a", 0, [3, 2], { stride: 8 }))), "loss", all);
    expect([[...(line.band?.low ?? [])], [...(line.band?.high ?? [])]]).toEqual([[2, 1], [4, 3]]);
  });

  it("lies on time or samples as asked, evaluations too", () => {
    const store = storeOf(part("a", 0, [3, 2], { seconds: 0.5, evaluations: [[2, 0.7, 91]] }));
    const time = lineOf(curve(store), "loss", { ...all, axis: "time" });
    expect([[...time.x], [...(time.points?.x ?? [])]]).toEqual([[0.5, 1], [1]]);
    expect([...lineOf(curve(store), "metric", { ...all, axis: "samples" }).points?.x ?? []]).toEqual([64]);
  });

  it("has a thin one for the memory of each of several processes", () => {
    const store = storeOf(part("a", 0, [3, 2, 1], { seconds: 0.5, rankMemory: [[1, 40, 60], [3, 41, 61]] }));
    const { thin } = lineOf(curve(store), "memory", { ...all, axis: "time" });
    expect(thin.map(({ x, y }) => [[...x], [...y]])).toEqual([[[0.5, 1.5], [40, 41]], [[0.5, 1.5], [60, 61]]]);
    expect(lineOf(curve(store), "loss", all).thin).toEqual([]);
    expect(lineOf(curve(storeOf(part("a", 0, [3]))), "memory", all).thin).toEqual([]);
  });

  it("takes finer blocks where they cover what is shown", () => {
    const { overview, detail } = curve(withDetail());
    expect(shownBlocks(curve(withDetail()), { axis: "step", window: [5, 8] }).step).toEqual(detail?.step);
    expect(shownBlocks(curve(withDetail()), { axis: "step", window: [2, 8] }).step).toEqual(overview.step);
  });
});

describe("what is read at a place", () => {
  it("is the step at or before it, and the last evaluation up to there", () => {
    const store = storeOf(part("a", 0, [5, 4, 3], { evaluations: [[2, 0.5, 90]] }));
    const at = (x: number | null) => readingAt(curve(store), "loss", all, x);
    expect(at(2.7)).toMatchObject({ step: 2, value: 4, evaluation: 0.5, seconds: 2 });
    expect(at(1)).toMatchObject({ step: 1, value: 5, evaluation: null });
    expect(at(null)).toMatchObject({ step: 3, value: 3 });
    expect(at(0)).toMatchObject({ step: 0, value: null });
  });

  it("is said to be not finite where it was not", () => {
    const store = storeOf(part("a", 0, [5, Number.NaN]));
    expect(readingAt(curve(store), "loss", all, null)?.value).toBeNaN();
    expect(readingAt(curve(store), "loss", { ...all, smoothing: 5 }, null)?.value).toBeNaN();
  });
});

describe("what more is wanted", () => {
  function stateOf(store: SeriesStore, window: [number, number] | null): ViewState {
    const state = new ViewState(store, {
      ...CONTEXT,
      curves: () => [look("a")],
      totalSteps: () => 0,
    });
    state.window = window;
    return state;
  }

  it("is nothing while all is shown, or every step is known", () => {
    expect(wanted(stateOf(withDetail(), null))).toBeNull();
    expect(wanted(stateOf(storeOf(part("a", 0, [3, 2, 1])), [1, 2]))).toBeNull();
  });

  it("is the window with room at both sides, unless that is known", () => {
    const store = withDetail();
    expect(wanted(stateOf(store, [8, 12]))).toEqual({ a: [6, 15] });
    expect(wanted(stateOf(store, [5, 8]))).toBeNull();
  });

  it("the axis grows with a run and never beyond its last step", () => {
    const state = stateOf(storeOf(part("a", 0, Array.from({ length: 110 }, () => 1))), null);
    expect(state.full).toEqual([0, 110]);
    state.context.totalSteps = () => 1000;
    expect(state.full).toEqual([0, 150]);
    state.context.totalSteps = () => 120;
    expect(state.full).toEqual([0, 120]);
  });
});
