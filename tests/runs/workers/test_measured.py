"""Measurements of a run, compared with the clocks and the memory of the engine itself.

The engine is the fake, which keeps a event_log of its own. Two clocks of one run are compared, so
that a busy machine makes both longer and no test wrong.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from tests.runs.workers.event_log import EventLog
from workbench.data import Dataset
from workbench.run_folder.results.throughput import LEAST_STEPS
from workbench.runs import Run, runs, train

STEPS, BATCH_SIZE, WARMUP = 31, 500, 3
STEP_MS, FIRST_STEP_MS = 20, 400
MEGABYTE = 1 << 20
BUILT, TRANSIENT = 100 * MEGABYTE, 250 * MEGABYTE
ROOM = 40 * MEGABYTE
"""Bytes that evaluation, checkpoints and the interpreter may take beside the fake's own."""


class Measured(NamedTuple):
    """A completed run and what is known of it from elsewhere."""

    run: Run
    event_log: EventLog
    asked: float
    """Seconds since the epoch, before `train` was called."""
    returned: float
    """Seconds since the epoch, after it had returned."""
    ended: float
    """Seconds since the epoch, after the run had ended."""
    listed_samples_per_s: float
    """The row of the run in `runs`."""


@pytest.fixture(scope="module")
def measured(digits: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    """31 steps over 16 epochs of two batches, evaluated after each, of known time and memory."""
    folder = tmp_path_factory.mktemp("measured")
    behaviour = {
        "step_ms": STEP_MS,
        "first_step_ms": FIRST_STEP_MS,
        "build_bytes": BUILT,
        "transient_at": 5,
        "transient_bytes": TRANSIENT,
        "event_log": str(folder / "event_log"),
    }
    settings = {"batch_size": BATCH_SIZE, "warmup_steps": WARMUP, "seed": 4}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(folder / "home"))
        patch.setenv("WORKBENCH_FAKE", json.dumps(behaviour))
        asked = time.time()
        run = train("digits-mlp", digits, engine="fake", steps=STEPS, **settings)
        returned = time.time()
        run.wait(120)
        listed = float(runs()["samples_per_s"].iloc[0])
        event_log = EventLog.read(folder / "event_log")
        yield Measured(run, event_log, asked, returned, time.time(), listed)


def test_no_step_is_shorter_than_the_engines_own_time(measured: Measured) -> None:
    recorded = measured.run.history["seconds"]
    own = measured.event_log.shortest_s()
    assert len(recorded) == len(own) == STEPS
    assert all(np.array(own[1:]) >= STEP_MS / 1e3)
    assert own[0] >= (STEP_MS + FIRST_STEP_MS) / 1e3
    assert all(recorded >= own), f"the shortest share is {min(recorded / own):.3f}"


def test_no_step_is_longer_than_the_time_between_its_neighbours(measured: Measured) -> None:
    recorded = measured.run.history["seconds"]
    room = measured.event_log.longest_s()
    assert len(room) == len(recorded)
    assert all(recorded <= room), f"the largest share is {max(recorded / room):.3f}"
    # Between two steps there is next to nothing, so the closest bounds would show ten percent.
    assert min(np.array(room) / measured.event_log.shortest_s()) < 1.05


def test_all_steps_together_fit_into_the_clock_of_the_run(measured: Measured) -> None:
    events = measured.run.follow().poll().events
    built = next(event["time"] for event in events if event["event"] == "built")
    steps = measured.event_log.of("step")
    total = measured.run.history["seconds"].sum()
    assert total <= measured.ended - built
    assert measured.asked < built < steps[0].ended
    assert total >= sum(measured.event_log.shortest_s())


def test_throughput_is_samples_over_seconds_without_the_warm_up(measured: Measured) -> None:
    history = measured.run.history
    kept = history[history["step"] > WARMUP]
    assert len(kept) == STEPS - WARMUP
    length = max(LEAST_STEPS, (STEPS - WARMUP) // 20)
    seconds = kept["seconds"].to_numpy()[: len(kept) // length * length].reshape(-1, length)
    expected = np.median(BATCH_SIZE * length / seconds.sum(axis=1))
    assert measured.listed_samples_per_s == pytest.approx(expected, rel=1e-9)
    assert (measured.run.summary or {})["samples_per_s"] == measured.listed_samples_per_s
    assert (measured.run.summary or {})["best_loss"] == history["loss"].min()
    assert measured.listed_samples_per_s <= BATCH_SIZE * 1e3 / STEP_MS
    each = BATCH_SIZE / history["seconds"]
    np.testing.assert_allclose(history["samples_per_s"], each, rtol=1e-12)


def test_startup_lasts_from_launch_to_the_end_of_the_first_step(measured: Measured) -> None:
    first, second = measured.event_log.of("step")[:2]
    assert measured.run.startup_s >= first.ended - measured.returned
    assert measured.run.startup_s <= second.began - measured.asked


def test_the_peak_includes_memory_freed_before_the_end(measured: Measured) -> None:
    (held,) = measured.event_log.of("transient")
    after = measured.event_log.of("step")[5].rss_bytes
    assert held.rss_bytes - after > 0.9 * TRANSIENT, "the engine did not give its memory back"
    summary = measured.run.summary
    assert summary is not None
    # Linux adds pages up by thread and in batches: the peak may lag by some hundred of them.
    assert held.rss_bytes - 4 * MEGABYTE <= summary["peak_rss_bytes"] <= held.rss_bytes + ROOM


def test_growth_counts_from_before_the_engine_was_built(measured: Measured) -> None:
    (built,) = measured.event_log.of("build")
    summary = measured.run.summary
    assert summary is not None
    assert abs(summary["rss_before_bytes"] - built.rss_bytes) < ROOM
    growth = summary["peak_rss_bytes"] - summary["rss_before_bytes"]
    assert BUILT + TRANSIENT - 4 * MEGABYTE <= growth <= BUILT + TRANSIENT + ROOM
    event = next(e for e in measured.run.follow().poll().events if e["event"] == "built")
    assert event["rss_before_bytes"] == summary["rss_before_bytes"]


def test_the_resident_set_of_the_moment_is_recorded_beside_the_steps(measured: Measured) -> None:
    """Each record has the resident set at its end, within what the fake saw of it by then."""
    history = measured.run.history
    calm = [step.rss_bytes for step in measured.event_log.of("step")[6:]]
    recorded = history["rss_bytes"][7:]
    assert abs(recorded - np.median(calm)).max() < ROOM


def test_batches_come_in_the_order_of_the_seed(measured: Measured, digits: Dataset) -> None:
    from workbench.engines.fake import batch_checksum

    fed = [step.batch for step in measured.event_log.of("step")]
    expected = [
        batch_checksum(batch)
        for epoch in range(1, STEPS // 2 + 2)
        for batch in digits.train.batches(BATCH_SIZE, 4, epoch)
    ]
    assert len(digits.train) // BATCH_SIZE == 2
    assert fed == expected[:STEPS]


def test_the_whole_test_split_is_evaluated_after_each_epoch(
    measured: Measured, digits: Dataset
) -> None:
    from workbench.engines.fake import batch_checksum

    assert digits.test is not None
    expected = [batch_checksum(batch) for batch in digits.test.in_order(BATCH_SIZE)]
    calls = [(deed.what, deed.batch) for deed in measured.event_log.of("step", "evaluate")]
    evaluations = [("evaluate", batch) for batch in expected]
    epoch, found = calls, []
    while epoch:
        length = 2 + len(evaluations)
        found.append(epoch[:length])
        epoch = epoch[length:]
    # 15 epochs of two steps, and one that ends after its first.
    assert len(found) in (15, 16)
    assert all(calls[2:] == evaluations for calls in found[:15])
    recorded = measured.run.evaluations
    assert list(recorded["step"][:15]) == list(range(2, 32, 2))
    assert list(recorded["epoch"][:15]) == list(range(1, 16))
    assert measured.run.summary is not None
    assert measured.run.summary["evaluation"]["loss"] == recorded["loss"].iloc[-1]
    assert measured.run.summary["evaluation"]["accuracy"] == recorded["accuracy"].iloc[-1]


def test_progress_and_epochs_are_counted_in_steps(measured: Measured) -> None:
    assert measured.run.progress == (STEPS, STEPS)
    assert list(measured.run.history["epoch"]) == [1 + step // 2 for step in range(STEPS)]
    assert measured.run.summary is not None
    assert measured.run.summary["steps"] == STEPS
    assert measured.run.summary["status"] == "completed"
    assert measured.returned <= measured.run.summary["ended"] <= measured.ended
