"""How fast a recorded run of a million steps is shown, and how smoothly it zooms in Chromium."""

from __future__ import annotations

import base64
import json
import shutil
import time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.page.processor_time import ProcessorTime
from benchmarks.result import Result
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.step_columns import written_durations, written_losses
from workbench.runs import Run
from workbench.settings.config import make_config
from workbench.widgets.charts import Charts

STEPS = 1_000_000
BATCH = 1000
"""Steps of one record, as a fast run writes them."""
FRAMES = 90
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

PAGE = """
const listeners = {};
const state = %s;
const decode = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const tell = (name, ...what) => (listeners[name] ?? []).forEach((each) => each(...what));
const receive = ([content, buffers]) => tell("msg:custom", content, buffers.map(decode));
window.model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; tell("change:" + name); },
  save_changes: () => undefined,
  on: (name, each) => { (listeners[name] ??= []).push(each); },
  send: async (content) => (await window.kernel(content)).forEach(receive),
};
"""

SHOW = """async (source) => {
  const began = performance.now();
  const { default: widget } = await import(source);
  const { initialize, render } = widget();
  initialize({ model });
  render({ model, el: document.querySelector("main"), signal: new AbortController().signal });
  const values = () => [...document.querySelectorAll(".wb-legend-value")];
  const drawn = () => values().some((each) => /\\d/.test(each.textContent));
  while (!drawn()) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""

ZOOM = """async (frames) => {
  const surface = document.querySelector(".wb-panel-loss .wb-plot");
  const over = surface.querySelector(".u-over");
  const { left, top, width } = over.getBoundingClientRect();
  surface.focus();
  const seen = { bubbles: true, cancelable: true };
  const times = [];
  let before = await new Promise(requestAnimationFrame);
  for (let frame = 0; frame < frames; frame += 1) {
    const deltaY = frame < frames / 2 ? -40 : 40;
    const place = { clientX: left + 0.4 * width, clientY: top + 20 };
    over.dispatchEvent(new WheelEvent("wheel", { deltaY, ...place, ...seen }));
    const now = await new Promise(requestAnimationFrame);
    times.push(now - before);
    before = now;
  }
  return times;
}"""


def measure(quick: bool) -> list[Result]:
    run = recorded_run()
    repeats = 2 if quick else 5
    found = [shown(run) for _ in range(repeats)]
    opened = [one.open_s for one in found]
    cpu_s = float(np.median([one.read_cpu_s for one in found]))
    frame_ms = float(np.median([one.frame_cpu_ms for one in found]))
    frames = 1000 / np.concatenate([one.frames_ms for one in found])
    return [
        Result(
            what="a recorded run of a million steps, from its folder to its charts drawn",
            value=float(np.median(opened)),
            low=min(opened),
            high=max(opened),
            spread=f"range of {repeats} times",
            unit="s",
            aim=1.0,
            note=f"of it {cpu_s:.2f} s of processor time in the kernel, to read and gather it",
        ),
        Result(
            what="frames a second while it is zoomed in and out, three charts",
            value=float(np.median(frames)),
            low=float(np.percentile(frames, 5)),
            high=float(np.percentile(frames, 95)),
            spread=f"5th to 95th percentile of {len(frames)} frames",
            unit="",
            aim=30.0,
            at_least=True,
            note=f"{frame_ms:.1f} ms of processor time a frame in headless Chromium without a GPU, "
            "which draws at most 60 frames a second",
        ),
    ]


def recorded_run() -> Run:
    """The folder of a run that took a million steps of 0.1 ms."""
    folder = RunFolder.create("million")
    config = make_config({"engine": "ondevice", "steps": STEPS, "threads": 1})
    folder.write_spec(
        {"config": config.model_dump(), "model": "none", "dataset": "none", "samples": 32}
    )
    draw = np.random.default_rng(0)
    with folder.events_path.open("w", encoding="utf-8") as file:
        for first in range(1, STEPS + 1, BATCH):
            losses = 2 * np.exp(-np.arange(first, first + BATCH) / 2e5) + draw.gamma(2, 0.05, BATCH)
            event = {
                "event": "steps",
                "time": 1.0,
                "first_step": first,
                "losses": written_losses(losses.tolist()),
                "nanoseconds": written_durations(draw.integers(90_000, 110_000, BATCH).tolist()),
                "batch_size": 32,
                "steps_per_epoch": 1,
                "rss_bytes": 200_000_000,
            }
            file.write(json.dumps(event) + "\n")
    folder.write_summary({"engine": "ondevice", "status": "completed", "error": None})
    return Run(folder)


class Shown(NamedTuple):
    """How it went once."""

    open_s: float
    """Until the run is drawn, reading included."""
    read_cpu_s: float
    """Processor time of reading it."""
    frames_ms: list[float]
    """Of each zoomed frame."""
    frame_cpu_ms: float
    """Processor time of the page for such a frame."""


def shown(run: Run) -> Shown:
    """Read a run and show it in Chromium."""
    from playwright.sync_api import sync_playwright

    path = next(path for name in CHROMIUM if (path := shutil.which(name)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_content("<main></main>")
        began, cpu_before_s = time.perf_counter(), time.process_time()
        charts = Charts()
        sent: list[Any] = []
        charts.send = lambda content, buffers: sent.append(  # type: ignore[method-assign]
            [content, [base64.b64encode(buffer).decode() for buffer in buffers]]
        )
        charts.reset(["ondevice"])
        charts.add_run("ondevice", run)
        charts.flush()
        read_s = time.perf_counter() - began
        cpu_s = time.process_time() - cpu_before_s

        def kernel(content: Any) -> list[Any]:
            sent.clear()
            charts._handle_custom_msg(content, [])
            return list(sent)

        names = [name for name in charts.keys if not name.startswith("_")]
        state = {
            name: getattr(charts, name) for name in names if name not in ("layout", "tabbable")
        }
        page.expose_function("kernel", kernel)
        page.evaluate(PAGE % json.dumps(state, default=str))
        page.add_style_tag(content=charts._css)
        source = base64.b64encode(charts._esm.encode()).decode()
        clock = ProcessorTime(page)
        drawn_ms = page.evaluate(SHOW, f"data:text/javascript;base64,{source}")
        before_s = clock.seconds()
        frames = page.evaluate(ZOOM, FRAMES)
        frame_ms = 1000 * (clock.seconds() - before_s) / FRAMES
        browser.close()
    return Shown(read_s + drawn_ms / 1000, cpu_s, frames, frame_ms)
