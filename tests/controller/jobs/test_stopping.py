"""What is said of a job that was asked to stop."""

from __future__ import annotations

from workbench.controller.jobs.stopping import EXPECTED_S, Stopping


def test_a_job_that_does_not_stop_is_said_to_hang_once() -> None:
    now = 100.0
    stopping = Stopping(lambda: now)
    assert not stopping.asked
    stopping.ask()
    now += EXPECTED_S - 1
    stopping.ask()  # a second click counts from the first
    assert stopping.text("the run") == "Stopping the run after its current step."
    starting = stopping.text("the run", starting=True)
    assert starting == "Stopping the run before its first step."
    now += 1
    hangs = stopping.text("the run")
    assert hangs == (
        "Stopping the run after its current step, which takes long or hangs. Its process is ended "
        "30 s after it was asked to stop; its last checkpoint is kept."
    )
    assert stopping.text("the run", starting=True).endswith("30 s after it was asked to stop.")
    now += 60
    assert stopping.text("the run") == hangs  # it is read aloud each time that it changes
