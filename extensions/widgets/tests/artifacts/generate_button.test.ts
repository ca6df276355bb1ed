import { describe, expect, it, vi } from "vitest";
import generateButton from "../../src/artifacts/generate_button";
import { show } from "../widget_model";

describe("the button that generates", () => {
  it("is filled until there are graphs: it is what the step is for", () => {
    const { el, model } = show(generateButton, { enabled: true, label: "Generate artifacts", primary: true, has_graphs: false, asked: 0 });
    const filled = () => el.querySelector(".wb-button")?.classList.contains("wb-primary");
    expect(filled()).toBe(true);
    model.receive("primary", false);
    expect(filled()).toBe(false);
    model.receive("primary", true);
    model.receive("has_graphs", true);
    expect(filled()).toBe(false);
  });

  it("leads to the graphs that were asked for elsewhere, once they are there", () => {
    vi.useFakeTimers();
    const traits = { enabled: true, label: "Generate artifacts", has_graphs: false, asked: 0 };
    const { el, model } = show(generateButton, traits);
    const panel = document.createElement("div");
    panel.className = "wb-step-panel";
    panel.append(el);
    document.body.replaceChildren(panel);
    const graphs = document.createElement("div");
    graphs.className = "wb-graphs";
    graphs.innerHTML = '<button>Profile</button><div class="wb-graph"><div tabindex="0"></div></div>';
    const first = graphs.querySelector<HTMLElement>("[tabindex]")!;
    const scrolled = (graphs.scrollIntoView = vi.fn());
    first.getClientRects = () => [{}] as unknown as DOMRectList; // nothing has a size here
    model.receive("asked", 1);
    model.receive("has_graphs", true);
    vi.advanceTimersByTime(200);
    expect(scrolled).not.toHaveBeenCalled();
    panel.append(graphs); // rendered later than told
    vi.advanceTimersByTime(200);
    expect(scrolled).toHaveBeenCalledTimes(1);
    expect(document.activeElement).toBe(first);
    model.receive("has_graphs", false);
    model.receive("asked", 2);
    const field = document.createElement("input");
    document.body.append(field);
    field.focus(); // a user has gone on to it meanwhile
    model.receive("has_graphs", true);
    vi.advanceTimersByTime(200);
    expect(scrolled).toHaveBeenCalledTimes(1);
    expect(document.activeElement).toBe(field);
    vi.useRealTimers();
  });
});
