import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { cancelDraw, drawSoon } from "../src/frame";

/** A frame later, and what is collected for it. */
async function frame(): Promise<void> {
  await vi.advanceTimersByTimeAsync(60);
}

describe("a frame", () => {
  // What the views of other tests have asked for is not drawn here.
  beforeEach(() => Reflect.deleteProperty(globalThis, Symbol.for("workbench.frame")));
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it("is one for all that is drawn soon, each once", async () => {
    vi.useFakeTimers();
    const frames = vi.spyOn(globalThis, "requestAnimationFrame");
    const [points, status] = [vi.fn(), vi.fn()];
    drawSoon(points);
    drawSoon(status);
    drawSoon(points);
    expect(points).not.toHaveBeenCalled();
    await frame();
    expect(frames).toHaveBeenCalledTimes(1);
    expect([points, status].map((draw) => draw.mock.calls.length)).toEqual([1, 1]);
    drawSoon(points);
    await frame();
    expect(points).toHaveBeenCalledTimes(2);
  });

  it("is shared by the bundles of one page", async () => {
    vi.useFakeTimers();
    const frames = vi.spyOn(globalThis, "requestAnimationFrame");
    vi.resetModules();
    const other = await import("../src/frame");
    expect(other.drawSoon).not.toBe(drawSoon);
    drawSoon(vi.fn());
    other.drawSoon(vi.fn());
    await frame();
    expect(frames).toHaveBeenCalledTimes(1);
  });

  it("draws what does not fail, and nothing of a view that is gone", async () => {
    vi.useFakeTimers();
    const reported = vi.fn();
    vi.stubGlobal("reportError", reported);
    const [gone, other] = [vi.fn(), vi.fn()];
    drawSoon(() => {
      throw new Error("of one");
    });
    drawSoon(gone);
    drawSoon(other);
    cancelDraw(gone);
    await frame();
    expect(gone).not.toHaveBeenCalled();
    expect(other).toHaveBeenCalledTimes(1);
    expect(reported).toHaveBeenCalledTimes(1);
  });
});
