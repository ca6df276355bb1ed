"""Any number of threads and processes may read the same run at the same time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

import workbench as wb
from workbench.run_folder.events import EventWriter
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run
from workbench.settings.config import make_config

STEPS = 3000
THREADS = 4


@pytest.fixture
def eager_switching() -> Iterator[None]:
    """Threads change places as often as the interpreter lets them."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("eager_switching")
def test_threads_that_look_at_one_run_miss_nothing() -> None:
    """A comparison's thread waits for a step that the cell's progress bar must not take away."""
    folder = RunFolder.create("watched")
    config = make_config({"engine": "fake", "steps": STEPS})
    folder.write_spec({"config": config.model_dump(), "model": "m", "samples": 32, "dataset": "d"})
    run = Run(folder)
    done = threading.Event()
    went_back: list[tuple[int, int]] = []

    def look() -> None:
        before = 0
        while not done.is_set():
            now = run.progress.done_steps
            if now < before:
                went_back.append((before, now))
            before = now

    threads = [threading.Thread(target=look) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    events = EventWriter(folder.events_path)
    try:
        for step in range(1, STEPS + 1):
            events.write(
                "steps",
                first_step=step,
                losses=[1.0],
                nanoseconds=[10**8],
                batch_size=1,
                steps_per_epoch=32,
                rss_bytes=1,
            )
    finally:
        done.set()
        for thread in threads:
            thread.join()
        events.close()
    assert run.progress.done_steps == STEPS
    assert not went_back


@pytest.mark.sweep
def test_a_comparison_ends_while_it_is_watched() -> None:
    comparison = wb.compare("digits-mlp", engines=["fake"], steps=400)
    while not comparison.ended:
        for run in comparison.runs.values():
            assert run.progress.done_steps <= 400
    assert comparison.wait(30).runs["fake"].progress.done_steps == 400
