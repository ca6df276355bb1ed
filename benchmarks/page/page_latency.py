"""How soon a page shows a step that was taken, and how soon Stop stops.

The fake engine trains, as it writes down when each of its steps ended by the same clock.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.page.lab_page import LabPage, lab_page
from benchmarks.result import Result
from workbench.engines.fake_behaviour import BEHAVIOUR_VARIABLE, Behaviour

STEP_MS = 20
"""As long as a step of a small convolutional network."""
SHOW = """
import workbench as wb
page = wb.Workbench("digits-mlp", engines=["fake"])
page.set(epochs=400, evaluate=False)
page
"""
WATCH = """() => {
  window.shown = [];
  const surface = document.querySelector(".wb-panel-loss .wb-plot");
  let last = "";
  const look = () => {
    // The name of a chart is set in the frame that draws it.
    const name = surface.getAttribute("aria-label") ?? "";
    if (name !== last) {
      last = name;
      const step = Number((/at step ([\\d,]+)/.exec(name)?.[1] ?? "0").replaceAll(",", ""));
      requestAnimationFrame(() => window.shown.push([step, Date.now() / 1000]));
    }
    requestAnimationFrame(look);
  };
  look();
}"""
PRESS_STOP = """async () => {
  const pressed = Date.now() / 1000;
  document.querySelector(".wb-controls .wb-stop").click();
  const message = document.querySelector(".wb-status-message");
  while (!message.textContent.startsWith("Stopped")) await new Promise(requestAnimationFrame);
  return [pressed, Date.now() / 1000];
}"""


def measure(quick: bool) -> list[Result]:
    repeats = 2 if quick else 6
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "events.jsonl"
        behaviour = Behaviour(step_ms=STEP_MS, event_log=str(log)).model_dump_json()
        with lab_page(SHOW, environment={BEHAVIOUR_VARIABLE: behaviour}) as lab:
            lab.run(0)
            lab.page.locator(".wb-status", has_text="is ready").wait_for()
            runs = [one_run(lab, log) for _ in range(repeats)]
    lags_ms = 1e3 * np.concatenate([lags for lags, _, _ in runs])
    taken_ms = 1e3 * np.array([taken for _, taken, _ in runs])
    told_ms = 1e3 * np.array([told for _, _, told in runs])
    return [
        Result(
            what=f"step to pixel, 95th percentile, steps of {STEP_MS} ms",
            value=float(np.percentile(lags_ms, 95)),
            low=float(np.percentile(lags_ms, 5)),
            high=float(lags_ms.max()),
            spread=f"5th percentile and longest of {len(lags_ms)} steps",
            unit="ms",
            aim=300.0,
            note=f"median {float(np.median(lags_ms)):.0f} ms; headless Chromium without a GPU",
        ),
        spread_of("Stop pressed to the end of the last step", taken_ms, 200.0 + STEP_MS),
        spread_of("Stop pressed to the page that says so, checkpoint written", told_ms, np.inf),
    ]


def one_run(lab: LabPage, log: Path) -> tuple[np.ndarray, float, float]:
    """Seconds from each step to its frame, and from Stop to the last step and to its message."""
    log.unlink(missing_ok=True)
    page = lab.page
    page.locator(".wb-controls .wb-train").click()
    page.locator(".wb-status-detail", has_text="step").wait_for()
    page.evaluate(WATCH)
    page.wait_for_timeout(8000)
    shown = page.evaluate("window.shown")
    pressed, told = page.evaluate(PRESS_STOP)
    ended = [line["ended"] for line in steps_of(log)]
    taken = max([moment for moment in ended if moment > pressed], default=pressed)
    return np.array(lags(ended, shown)), taken - pressed, told - pressed


def lags(ended: Sequence[float], shown: Sequence[Sequence[float]]) -> list[float]:
    """For each step that was taken while the page was watched, how long until it was drawn."""
    found: list[float] = []
    before = int(shown[0][0])
    for step, moment in shown[1:]:
        found += [moment - ended[number - 1] for number in range(before + 1, int(step) + 1)]
        before = int(step)
    return found


def steps_of(log: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["what"] == "step"]


def spread_of(what: str, times_ms: np.ndarray, aim: float) -> Result:
    """The longest, as each counts."""
    return Result(
        what=what,
        value=float(times_ms.max()),
        low=float(times_ms.min()),
        high=float(times_ms.max()),
        spread=f"range of {len(times_ms)} times",
        unit="ms",
        aim=aim,
        note=f"median {float(np.median(times_ms)):.0f} ms",
    )
