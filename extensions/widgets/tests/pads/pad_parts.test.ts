import { describe, expect, it } from "vitest";
import { percent } from "../../src/pads/parts/bars";
import { greyOf } from "../../src/pads/recording/camera";
import { refusal } from "../../src/pads/recording/device_refusal";
import { bytesOf } from "../../src/pads/parts/pad_model";
import { addPoint, MOST_POINTS, packed, pointCount, type Stroke } from "../../src/pads/recording/strokes";
import { joined, rootMeanSquare } from "../../src/pads/recording/waveform";

describe("strokes", () => {
  it("keep points within the area and leave out those that stand still", () => {
    const strokes: Stroke[] = [[]];
    for (const [x, y] of [[-1, 0.5], [0, 0.5], [0.2, 2]] as const) addPoint(strokes, x, y);
    expect(strokes).toEqual([[0, 0.5, 0.2, 1]]);
  });

  it("are packed without empty ones", () => {
    const { lengths, points } = packed([[0, 0, 1, 1], [], [0.5, 0.5]]);
    expect(lengths).toEqual([2, 1]);
    expect([...points]).toEqual([0, 0, 1, 1, 0.5, 0.5]);
  });

  it("end where the kernel would refuse more", () => {
    const strokes: Stroke[] = [[]];
    for (let at = 0; at < MOST_POINTS + 10; at += 1) addPoint(strokes, (at % 100) / 100, (at % 7) / 7);
    expect(pointCount(strokes)).toBe(MOST_POINTS);
    expect(addPoint(strokes, 0.33, 0.33)).toBe(false);
  });
});

describe("numbers", () => {
  it("never round what is neither to none or all", () => {
    expect([0, 0.0004, 0.034, 0.5, 0.996, 0.9995, 1].map(percent)).toEqual(["0\u00a0%", "< 0.1\u00a0%", "3.4\u00a0%", "50\u00a0%", "99.6\u00a0%", "> 99.9\u00a0%", "100\u00a0%"]);
  });

  it("say how loud a sound is", () => {
    expect(rootMeanSquare(new Float32Array())).toBe(0);
    expect(rootMeanSquare(Float32Array.of(0.5, -0.5))).toBe(0.5);
    expect([...joined([Float32Array.of(1), Float32Array.of(2, 3)])]).toEqual([1, 2, 3]);
  });

  it("weigh colours as the eye does", () => {
    expect([...greyOf(Uint8ClampedArray.of(255, 255, 255, 255, 0, 255, 0, 255))]).toEqual([255, 150]);
  });

  it("are read from anywhere in a buffer", () => {
    expect([...bytesOf(new DataView(Uint8Array.of(1, 2, 3, 4).buffer, 1, 2))]).toEqual([2, 3]);
    expect(bytesOf(undefined).length).toBe(0);
  });
});

describe("a refused device", () => {
  it.each([
    [new DOMException("", "NotAllowedError"), "permission was denied"],
    [new DOMException("", "NotFoundError"), "none was found"],
    [new DOMException("", "NotReadableError"), "another program is using it"],
    [new Error("pages have it only over HTTPS."), "the browser says: pages have it"],
    ["odd", "the browser says: odd"],
  ])("is one sentence and what continues: %s", (error, reason) => {
    const sentence = refusal("camera", error, "Drawing continues.");
    expect(sentence).toMatch(/^The camera cannot be used: /);
    expect(sentence).toContain(reason);
    expect(sentence).toMatch(/Drawing continues\.$/);
  });
});
