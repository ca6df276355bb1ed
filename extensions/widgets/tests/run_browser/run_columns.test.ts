// What the cells of a run say.

import { describe, expect, it } from "vitest";
import { COLUMNS, columnsThatFit } from "../../src/run_browser/run_columns";
import { row } from "./run_rows";

function text(key: string, of: ReturnType<typeof row>, beside: string[] = []): string {
  const column = COLUMNS.find((each) => each.key === key)!;
  const cell = document.createElement("div");
  cell.append(...column.fill(of, new Set(beside)));
  return cell.textContent ?? "";
}

describe("the name", () => {
  it("has the status where no column has it", () => {
    expect(text("name", row("a", { status: "failed" }))).toContain("failed");
    expect(text("name", row("a", { status: "failed" }), ["status"])).not.toContain("failed");
    expect(text("name", row("a"))).toContain("completed");
  });

  it("says at which step and why a run has ended where no column has its status", () => {
    const reason = "Its kernel was restarted.";
    const ended = row("a", { status: "interrupted", reason, steps: 12 });
    expect(text("name", ended)).toContain("interruptedstep 12");
    expect(text("name", ended)).toContain(reason);
    expect(text("name", ended, ["status", "steps"])).not.toContain("step 12");
    expect(text("name", ended, ["status", "steps"])).toContain(reason);
    const again = { ...ended, settings: "lr 0.002, batch 32" };
    expect(text("name", again, ["status"])).toContain(`lr 0.002, batch 32 · ${reason}`);
  });

  it("says why a run cannot be read, before its path and id would take the room", () => {
    const why = (reason: string) => text("name", row("a", { id: "2026-a", status: "unreadable", reason }));
    expect(why("/home/x/runs/2026-a/spec.json is not valid JSON: line 1.")).toContain("spec.json is not valid JSON");
    expect(why(`/home/x/runs/2026-a/summary.json is corrupt: steps=1${"0".repeat(99)}: is too large.`)).toContain(
      "summary.json is corrupt: steps=1000000000…0000000: is too large.",
    );
    expect(why("Run 2026-a was written by a newer workbench.")).toContain("Was written by a newer workbench.");
  });

  it("says that a part of the record is missing", () => {
    expect(text("name", row("a", { damage: "It ends at step 25 of 44." }), ["status"])).toContain("record incomplete");
    expect(text("name", row("a"))).not.toContain("incomplete");
  });
});

describe("the last loss", () => {
  it("is not finite where the run was recorded to its end, else unknown", () => {
    expect(text("lastLoss", row("a", { lastLoss: null }))).toBe("not finite");
    expect(text("lastLoss", row("a", { lastLoss: null, damage: "It ends at step 0 of 44." }))).toBe("–");
  });
});

describe("the throughput", () => {
  it("says where other programs disturbed it", () => {
    const disturbance = "other programs used 1.4 of 2 cores";
    expect(text("samplesPerS", row("a", { disturbance }))).toMatch(/machine busy$/);
    expect(text("samplesPerS", row("a"))).not.toContain("busy");
    expect(text("samplesPerS", row("a", { disturbance, samplesPerS: null }))).toBe("–");
  });

  it("says where it is not known whether they did", () => {
    expect(text("samplesPerS", row("a", { loadKnown: false }))).toMatch(/load not known$/);
    expect(text("samplesPerS", row("a", { loadKnown: false, status: "running" }))).not.toContain("load");
    expect(text("samplesPerS", row("a", { loadKnown: false, samplesPerS: null }))).toBe("–");
  });
});

describe("the duration", () => {
  it("says what it has besides the run's own time", () => {
    expect(text("durationS", row("a", { durationS: 5 }))).not.toContain("with");
    expect(text("durationS", row("a", { durationS: 5, wasPaused: true }))).toMatch(/with pauses$/);
    expect(text("durationS", row("a", { durationS: 5, comparison: "b" }))).toMatch(/with turns$/);
  });
});

describe("the columns", () => {
  it("are the name alone where status and start would be cut beside a curve", () => {
    const keys = (width: number) => columnsThatFit(width).map(({ key }) => key);
    expect(keys(240)).toEqual(["name"]);
    expect(keys(376)).toEqual(["name", "curve"]);
    expect(keys(440)).toEqual(["name", "curve", "lastLoss"]);
  });
});
