// Type follows JupyterLab's font size.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { RunGrid } from "../src/run_browser/run_grid";
import { Selection } from "../src/run_browser/selection";
import { onThemeChange, readTheme } from "../src/theme";

const SOURCES = join(__dirname, "..", "src");

/** An element of the page, where JupyterLab's font size is so large. */
function within(size = ""): HTMLElement {
  const el = document.createElement("div");
  if (size) el.style.setProperty("--jp-ui-font-size1", size);
  document.body.replaceChildren(el);
  return el;
}

describe("a style sheet", () => {
  const sheets = (readdirSync(SOURCES, { recursive: true }) as string[]).filter((name) => name.endsWith(".css"));

  it.each(sheets)("%s has no size of type in pixels", (name) => {
    const text = readFileSync(join(SOURCES, name), "utf8");
    expect(text.match(/^\s*(font|font-size|line-height):[^;]*\dpx[^;]*;/gm) ?? []).toEqual([]);
  });
});

describe("what is drawn or placed in pixels", () => {
  it("is as ever at JupyterLab's usual font size, and where there is none", () => {
    for (const size of ["", "13px"]) {
      expect(readTheme(within(size))).toMatchObject({ font: expect.stringMatching(/^11px/), textZoom: 1 });
    }
  });

  it("has larger text in charts where JupyterLab's is larger", () => {
    expect(readTheme(within("17px")).font).toMatch(/^14px/);
  });

  it("is told when a user changes the font size", async () => {
    const changed = vi.fn();
    const stop = new AbortController();
    onThemeChange(changed, stop.signal);
    document.documentElement.style.setProperty("--jp-ui-font-size1", "17px");
    await vi.waitFor(() => expect(changed).toHaveBeenCalled());
    stop.abort();
    document.documentElement.removeAttribute("style");
  });

  it("has fewer columns and higher rows in a list of runs of larger text", () => {
    const listener = { onSort: () => {}, onSelect: () => {}, onOpen: () => {}, onKey: () => {} };
    const [usual, larger] = ["13px", "19.5px"].map((size) => {
      const grid = new RunGrid(new Selection(), listener);
      within().append(grid.root);
      grid.root.style.setProperty("--jp-ui-font-size1", size);
      grid.resize(900);
      return { columns: Number(grid.root.getAttribute("aria-colcount")), height: Number.parseFloat(grid.root.style.height) };
    });
    expect(larger!.columns).toBeLessThan(usual!.columns);
    expect(larger!.height).toBeGreaterThan(usual!.height);
  });
});
