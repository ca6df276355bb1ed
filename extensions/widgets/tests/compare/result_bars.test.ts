import { describe, expect, it } from "vitest";
import view, { barScale } from "../../src/compare/result_bars";
import { show } from "../widget_model";

const style = { color: "#c2410c", dark_color: "#fb923c", dash: [] };
const bars = [
  { label: "pytorch", text: "1.00×", value: 1, interval: [1, 1], ...style },
  { label: "ondevice", text: "1.8× (1.6 to 2.0)", value: 1.8, interval: [1.6, 2], ...style },
];
const traits = {
  verdict: "ondevice is 1.8 times as fast as pytorch (1.6 to 2.0); the machine was quiet while this was measured.",
  badge: "machine was quiet",
  badge_line: 0,
  level: "quiet",
  reference: "pytorch",
  quantity: "Throughput relative to pytorch",
  bars,
  awaited: 0,
};

describe("ratio bars", () => {
  it("say the verdict, then each ratio with its interval", () => {
    const { el } = show(view, traits);
    expect(el.querySelector(".wb-verdict")?.textContent).toBe(traits.verdict); // it says that the machine was quiet
    const busy = show(view, { ...traits, level: "busy", badge: "machine was busy" }).el;
    expect(busy.querySelector(".wb-verdict .wb-badge")?.textContent).toBe("machine was busy");
    const values = [...el.querySelectorAll("dd")].map((each) => each.textContent);
    expect(values).toEqual(["reference", "1.8× (1.6 to 2.0)"]);
    expect(el.querySelectorAll(".wb-whisker").length).toBe(1);
  });

  it("tell of whiskers where one is drawn: the reference has an interval and none", () => {
    const note = (interval: number[]) =>
      show(view, { ...traits, bars: [bars[0], { ...bars[1], interval }] }).el.querySelector(".wb-note")?.textContent;
    expect(note([1.6, 2])).toContain("whiskers");
    expect(note([])).not.toContain("whiskers");
    expect(note([1.6, 2])).not.toContain("load");
    const busy = show(view, { ...traits, level: "busy" }).el.querySelector(".wb-note")?.textContent;
    expect(busy).toContain("interval under this load");
  });

  it("are of losses without a reference, and a busy machine does not make them doubtful", () => {
    const losses = [
      { ...bars[0], text: "0.2000", value: 0.2, interval: [] },
      { ...bars[1], text: "0.5000, 2.50×", value: 0.5, interval: [] },
    ];
    const { el } = show(view, { ...traits, bars: losses, level: "busy", badge: "machine was busy", badge_line: 1, verdict: "Test loss.\nDo not trust.", reference: "", quantity: "Test loss; relative to the lowest" });
    expect(el.querySelector(".wb-note")?.textContent).toBe("Test loss; relative to the lowest");
    expect([...el.querySelectorAll("dd")].map((each) => each.textContent)).toEqual(["0.2000", "0.5000, 2.50×"]);
    expect(el.querySelector<HTMLElement>(".wb-bar")?.style.width).toBe("40.00%");
    expect(el.querySelector(".wb-bar-one")).toBeNull();
    expect(el.classList).not.toContain("wb-doubtful");
    const verdict = el.querySelector<HTMLElement>(".wb-verdict");
    expect(verdict?.textContent).toBe("Test loss.\nmachine was busy Do not trust.");
    expect(verdict?.dataset["level"]).toBe("none");
  });

  it("are not drawn for one run alone", () => {
    const { el } = show(view, { ...traits, bars: bars.slice(0, 1) });
    expect(el.querySelector("dl")).toBeNull();
  });

  it("have their place before they come, in which nothing is read aloud", () => {
    const { el, model } = show(view, { ...traits, verdict: "Reading.", bars: [] as typeof bars, awaited: 3 });
    expect(el.querySelectorAll(".wb-bars-room .wb-bar-row")).toHaveLength(3);
    expect(el.querySelector(".wb-bars-room")?.getAttribute("aria-hidden")).toBe("true");
    expect(el.classList).toContain("wb-awaited");
    model.receive("bars", bars);
    expect(el.querySelectorAll(".wb-bar-row")).toHaveLength(2);
    expect(el.querySelector(".wb-bars-room")).toBeNull();
    model.receive("awaited", 0);
    model.receive("bars", []);
    expect(el.querySelector("dl")).toBeNull();
    expect(el.classList).not.toContain("wb-awaited");
  });

  it("have lengths from zero, or logarithmic ones where they differ much", () => {
    expect(barScale([1, 2]).share(1)).toBe(0.5);
    expect([0, 2].map(barScale([0, 2]).share)).toEqual([0, 1]); // losses
    expect([-2, -1].map(barScale([-2, -1]).share)).toEqual([0, 0]);
    expect([-1, 2].map(barScale([-1, 2]).share)).toEqual([0, 1]);
    const { share, logarithmic } = barScale([1, 300]);
    expect(logarithmic).toBe(true);
    expect(share(300)).toBe(1);
    expect(share(1)).toBeGreaterThan(0.05);
  });
});
