import { describe, expect, it } from "vitest";
import { layOut, type LayoutInput, type LayoutResult } from "../../../src/graph/layout/layout";
import type { LayoutClient } from "../../../src/graph/layout/layout_client";
import { Pane } from "../../../src/graph/panes/pane";
import { sample } from "../graph_sample";

const GROUP = 1;

/** Lays out at once, and remembers what it was asked for. */
class Layouts {
  asked: LayoutInput[] = [];
  signals: AbortSignal[] = [];
  inWorker = false;
  close(): void {}

  async layOut(input: LayoutInput, signal: AbortSignal): Promise<LayoutResult | null> {
    this.asked.push(input);
    this.signals.push(signal);
    const found = await layOut(input, () => Promise.resolve(true));
    return signal.aborted ? null : found;
  }
}

function pane(): { layouts: Layouts; pane: Pane } {
  const layouts = new Layouts();
  const nothing = { onOpened: () => {}, onScene: () => {} };
  return { layouts, pane: new Pane(sample(), layouts as unknown as LayoutClient, nothing) };
}

describe("a pane", () => {
  it("lays out a group ahead of its opening, once", async () => {
    const { layouts, pane: shown } = pane();
    await shown.show(new Set());
    expect(layouts.asked).toHaveLength(1);
    shown.prepare(GROUP);
    await Promise.resolve();
    const ahead = layouts.asked.length;
    expect(ahead).toBeGreaterThan(1);
    expect([...shown.open]).toEqual([]);
    await shown.toggle(GROUP);
    expect([...shown.open]).toEqual([GROUP]);
    // What is in the group, and the graph around it, which has another size now.
    expect(layouts.asked).toHaveLength(3);
    shown.close();
  });

  it("gives up a layout ahead where something else is opened or closed", async () => {
    const { layouts, pane: shown } = pane();
    await shown.show(new Set());
    shown.prepare(GROUP);
    await shown.show(new Set());
    expect(layouts.signals[1]!.aborted).toBe(true);
    expect([...shown.open]).toEqual([]);
    await shown.toggle(GROUP);
    expect([...shown.open]).toEqual([GROUP]);
    shown.prepare(GROUP); // is open: nothing to prepare
    const asked = layouts.asked.length;
    await shown.toggle(GROUP);
    expect(layouts.asked).toHaveLength(asked);
    expect([...shown.open]).toEqual([]);
    shown.close();
  });

  it("keeps what is shown where an opening is cancelled", async () => {
    const { pane: shown } = pane();
    await shown.show(new Set());
    shown.prepare(GROUP);
    const opening = shown.toggle(GROUP);
    shown.cancel();
    await opening;
    expect([...shown.open]).toEqual([]);
    await shown.toggle(GROUP);
    expect([...shown.open]).toEqual([GROUP]);
    shown.close();
  });

  it("keeps the focus in the graph where its button Cancel is pressed", async () => {
    const { pane: shown } = pane();
    document.body.append(shown.root);
    await shown.show(new Set());
    const busy = shown.root.querySelector<HTMLElement>(".wb-graph-busy")!;
    const button = document.createElement("button");
    busy.append(button);
    busy.hidden = false;
    button.focus();
    shown.cancel();
    expect(busy.hidden).toBe(true);
    expect(document.activeElement).toBe(shown.surface);
    shown.close();
    shown.root.remove();
  });
});
