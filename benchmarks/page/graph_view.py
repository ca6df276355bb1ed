"""How fast a graph view opens a graph of 8,000 nodes, opens a group of 400, and pans."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

from benchmarks.page.graph_page import graph_page, long_chain
from benchmarks.page.processor_time import ProcessorTime
from benchmarks.result import Result

NODES, GROUP = 8_000, 400
FRAMES = 90

DRAWN = """() => {
  const canvas = document.querySelector(".wb-graph-surface > canvas");
  return canvas !== null && canvas.width !== 300;
}"""

OPENED = """async () => {
  const surface = document.querySelector(".wb-graph-surface");
  const key = (name) =>
    surface.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
  const frame = () => new Promise(requestAnimationFrame);
  surface.focus();
  key("ArrowDown");
  key("ArrowDown");
  await frame();
  await frame();
  const before = window.model.get("opened");
  const started = performance.now();
  key("Enter");
  while (window.model.get("opened") === before) await new Promise((go) => setTimeout(go));
  await frame();
  return performance.now() - started;
}"""

PANNED = """async (frames) => {
  const surface = document.querySelector(".wb-graph-surface");
  surface.setPointerCapture = () => {};
  const send = (type, clientX, clientY) => {
    const given = { clientX, clientY, button: 0, pointerId: 1, bubbles: true };
    surface.dispatchEvent(new PointerEvent(type, given));
  };
  const frame = () => new Promise(requestAnimationFrame);
  document.querySelector('[aria-label="Show the whole graph"]').click();
  for (let i = 0; i < 6; i++) document.querySelector('[aria-label="Zoom in"]').click();
  await frame();
  send("pointerdown", 300, 300);
  const gaps = [];
  let last = await frame();
  for (let i = 0; i < frames; i++) {
    send("pointermove", 300 + 80 * Math.sin(i / 9), 300 + 120 * Math.cos(i / 13));
    const now = await frame();
    gaps.push(now - last);
    last = now;
  }
  send("pointerup", 300, 300);
  return gaps;
}"""


def measure(quick: bool) -> list[Result]:
    """Times with the graph in a file; nothing else of the page is loaded."""
    rounds = 2 if quick else 5
    with tempfile.TemporaryDirectory() as folder:
        path = long_chain(Path(folder) / "chain.onnx", NODES, GROUP)
        whole, drawn, opened, gaps = [], [], [], []
        used: dict[str, list[float]] = {"draw": [], "open": [], "pan": []}
        for _ in range(rounds):
            started = time.perf_counter()
            with graph_page(path, opened=False) as page:
                clock = ProcessorTime(page)
                began, at_start_s = page.evaluate("performance.now()"), clock.seconds()
                page.wait_for_function(DRAWN, polling="raf")
                whole.append(time.perf_counter() - started)
                drawn.append((page.evaluate("performance.now()") - began) / 1000)
                drawn_s = clock.seconds()
                used["draw"].append(drawn_s - at_start_s)
                opened.append(page.evaluate(OPENED) / 1000)
                opened_s = clock.seconds()
                used["open"].append(opened_s - drawn_s)
                gaps += panned(page)
                used["pan"].append((clock.seconds() - opened_s) / FRAMES)
    return [
        in_range(
            f"graph of {NODES:,} nodes: reading, browser start and first picture",
            whole,
            "s",
            np.inf,
        ),
        in_range(
            f"graph of {NODES:,} nodes, closed: message to first picture",
            drawn,
            "s",
            1.0,
            used["draw"],
        ),
        in_range(f"opening a group of {GROUP} nodes", opened, "s", 0.2, used["open"]),
        Result(
            what=f"panning with {GROUP} nodes open, frames per second",
            value=1000 / float(np.median(gaps)),
            low=1000 / float(np.percentile(gaps, 95)),
            high=1000 / float(np.percentile(gaps, 5)),
            spread=f"5th to 95th percentile of {len(gaps)} frames",
            unit="",
            aim=30,
            at_least=True,
            note=f"{1000 * float(np.median(used['pan'])):.1f} ms of processor time a frame",
        ),
    ]


def panned(page: Page, frames: int = FRAMES) -> list[float]:
    """Milliseconds from frame to frame while the graph is dragged."""
    found: list[float] = page.evaluate(PANNED, frames)
    return found


def in_range(
    what: str, seconds: Sequence[float], unit: str, aim: float, used_s: Sequence[float] = ()
) -> Result:
    """The median, and the range; `used_s`: of it, processor time of the page."""
    note = f"{float(np.median(used_s)):.3f} s of processor time in the page" if used_s else ""
    return Result(
        what=what,
        value=float(np.median(seconds)),
        low=float(np.min(seconds)),
        high=float(np.max(seconds)),
        spread=f"range of {len(seconds)} pages",
        unit=unit,
        aim=aim,
        note=note,
    )
