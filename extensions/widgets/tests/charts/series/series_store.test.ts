import { describe, expect, it } from "vitest";
import { lastAtMost } from "../../../src/charts/series/block";
import { SeriesStore } from "../../../src/charts/series/series_store";
import { message, part, storeOf } from "../points";

const stepsOf = (store: SeriesStore, key: string) => [...(store.curve(key)?.overview.step ?? [])];

describe("SeriesStore", () => {
  it("joins parts in order, wherever a buffer begins", () => {
    const store = storeOf(part("a", 0, [5, 4, 3]));
    expect(store.apply(...message([part("a", 3, [2, 1])]))).toBe(true);
    expect(stepsOf(store, "a")).toEqual([1, 2, 3, 4, 5]);
    expect([...(store.curve("a")?.overview.mean ?? [])]).toEqual([5, 4, 3, 2, 1]);
    expect([...(store.curve("a")?.overview.seconds ?? [])]).toEqual([1, 2, 3, 4, 5]);
  });

  it("replaces the last block, which was of fewer steps", () => {
    const store = storeOf(part("a", 0, [5, 4]));
    store.apply(...message([part("a", 1, [9, 8])]));
    expect([...(store.curve("a")?.overview.mean ?? [])]).toEqual([5, 9, 8]);
  });

  it("holds no more when blocks get longer", () => {
    const store = storeOf(part("a", 0, [5, 4, 3, 2]));
    expect(store.apply(...message([part("a", 0, [4.5, 2.5], { stride: 2 })]))).toBe(true);
    expect(stepsOf(store, "a")).toEqual([2, 4]);
  });

  it("asks for everything when a message was lost, and takes nothing in until then", () => {
    const store = storeOf(part("a", 0, [5, 4]));
    const [lost] = message([part("a", 2, [3])]);
    const later = { sequence: lost.sequence + 1 };
    expect(store.apply(...message([part("a", 3, [2])], later))).toBe(false);
    expect(stepsOf(store, "a")).toEqual([1, 2]);
    expect(store.apply(...message([part("a", 0, [5, 4, 3, 2])], { full: true }))).toBe(true);
    expect(stepsOf(store, "a")).toEqual([1, 2, 3, 4]);
  });

  it("takes a message that arrives twice once", () => {
    const store = storeOf(part("a", 0, [5]));
    const again = message([part("a", 1, [4])]);
    expect(store.apply(...again)).toBe(true);
    expect(store.apply(...again)).toBe(true);
    expect(stepsOf(store, "a")).toEqual([1, 2]);
  });

  it("asks for everything when a buffer is shorter than its part says", () => {
    const store = storeOf(part("a", 0, [5]));
    const [told, buffers] = message([part("a", 1, [4, 3])]);
    const cut = new DataView((buffers[0] as DataView).buffer, 3, 4);
    expect(store.apply(told, [cut, buffers[1] as DataView])).toBe(false);
    expect(stepsOf(store, "a")).toEqual([1]);
  });

  it("forgets the run before when a new generation begins, and asks for all of it", () => {
    const store = storeOf(part("a", 0, [5]));
    expect(store.apply(...message([part("b", 4, [1])], { generation: 1 }))).toBe(false);
    store.apply(...message([part("b", 0, [1])], { generation: 1, full: true }));
    expect(store.curve("a")).toBeUndefined();
    expect(store.apply(...message([part("a", 0, [9])], { generation: 0, full: true }))).toBe(true);
    expect(store.curve("a")).toBeUndefined();
  });

  it("knows what is empty, the last step, and evaluations", () => {
    expect(new SeriesStore().empty).toBe(true);
    expect(storeOf(part("a", 0, [])).empty).toBe(true);
    const store = storeOf(part("a", 0, [1, 1]), part("b", 0, [1, 1, 1], { evaluations: [[2, 0.5, 90]] }));
    expect(store.empty).toBe(false);
    expect(store.lastStep).toBe(3);
    expect([...(store.curve("b")?.evaluations.metric ?? [])]).toEqual([90]);
  });

  it("keeps finer blocks beside the coarse ones, until everything is sent again", () => {
    const store = storeOf(part("a", 0, [5, 4], { stride: 4 }));
    const [header, data] = part("a", 2, [3, 2]);
    store.applyDetail({ kind: "detail", id: "1", generation: 0, parts: [header] }, [data]);
    expect([...(store.curve("a")?.detail?.step ?? [])]).toEqual([3, 4]);
    store.applyDetail({ kind: "detail", id: "1", generation: 7, parts: [header] }, [data]);
    store.apply(...message([part("a", 0, [5, 4], { stride: 4 })], { full: true }));
    expect(store.curve("a")?.detail).toBeNull();
  });
});

describe("lastAtMost", () => {
  it.each([
    [0, -1],
    [2, 0],
    [3, 0],
    [5, 1],
    [9, 2],
    [99, 2],
  ])("of 2, 5, 9 and %d is index %d", (step, index) => {
    expect(lastAtMost(new Float32Array([2, 5, 9]), step)).toBe(index);
  });
});
