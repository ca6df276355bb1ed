import { describe, expect, it } from "vitest";
import status from "../../src/app/status";
import { show } from "../widget_model";

const traits = { level: "idle", message: "short", detail: "", progress: -1, left: "" };

/** A status whose message has so many lines of 19 pixels, of which two are seen. */
function statusOf(lines: { count: number }) {
  const shown = show(status, traits);
  const message = shown.el.querySelector(".wb-status-message") as HTMLElement;
  const more = shown.el.querySelector("button") as HTMLButtonElement;
  const height = (most: number) => ({ get: () => 19 * Math.min(lines.count, most), configurable: true });
  Object.defineProperty(message, "scrollHeight", height(Infinity));
  Object.defineProperty(message, "clientHeight", height(2));
  return { ...shown, more };
}

describe("the status", () => {
  it("measures a message beside what stands beside it from now on", () => {
    const { el, model } = show(status, { ...traits });
    const more = el.querySelector("button") as HTMLButtonElement;
    const detail = el.querySelector(".wb-status-detail") as HTMLElement;
    const message = el.querySelector(".wb-status-message") as HTMLElement;
    // Three lines beside a long detail, two beside a short one.
    Object.defineProperty(message, "scrollHeight", { get: () => 19 * ((detail.textContent ?? "").length > 9 ? 3 : 2) });
    Object.defineProperty(message, "clientHeight", { value: 38 });
    model.receive("detail", "step 400 of 400");
    model.receive("message", "Training.");
    expect(more.hidden).toBe(false);
    // The kernel sends both at once.
    Object.assign((model as unknown as { traits: object }).traits, { detail: "27 s" });
    model.receive("message", "Trained.");
    expect(more.hidden).toBe(true);
  });

  it("folds a whole message as another step is shown", async () => {
    const lines = { count: 1 };
    const { el, model, more } = statusOf(lines);
    const page = document.createElement("div");
    page.className = "wb-page";
    page.append(el);
    lines.count = 4;
    model.receive("message", "four lines");
    more.click();
    page.dataset["step"] = "runs";
    await Promise.resolve();
    expect(el.classList.contains("wb-whole")).toBe(false);
    expect(more.textContent).toBe("More");
  });

  it("shows two lines of a long message, and the whole of it on demand", () => {
    const lines = { count: 1 };
    const { el, model, more } = statusOf(lines);
    model.receive("message", "one line");
    expect(more.hidden).toBe(true);
    lines.count = 4;
    model.receive("message", "four lines");
    expect([more.hidden, more.textContent, more.getAttribute("aria-expanded")]).toEqual([false, "More", "false"]);
    expect(el.classList.contains("wb-cut")).toBe(true);
    more.click();
    expect([more.textContent, more.getAttribute("aria-expanded")]).toEqual(["Less", "true"]);
    expect(el.classList.contains("wb-whole")).toBe(true);
    model.receive("detail", "step 7");
    expect(el.classList.contains("wb-whole"), "the message is the same").toBe(true);
    lines.count = 1;
    model.receive("message", "one line again");
    expect(more.hidden).toBe(true);
    expect(el.classList.contains("wb-whole")).toBe(false);
  });
});
