"""One row of a list of runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.runs.record.activity import Status


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of a list. What is not known is NaN, 0 or empty."""

    id: str
    status: Status
    name: str = ""
    """The display name; empty if the run was not renamed."""
    model: str = ""
    dataset: str = ""
    engine: str = ""
    trained_by: str = ""
    """The engine, and how many processes or clients share the work if several do."""
    settings: str = ""
    """See `main_settings`."""
    comparison: str = ""
    """Id of the comparison that it is a part of; empty: none, or it was trained further since."""
    reason: str = ""
    """Why it failed, was interrupted or stopped early, or cannot be read."""
    damage: str = ""
    """What is missing of its record, in a sentence."""
    started: float = math.nan
    """First launch, in seconds since the epoch."""
    duration_s: float = math.nan
    """See `Run.duration_s`."""
    was_paused: bool = False
    """Whether the duration has pauses, as far as that is recorded."""
    step_word: str = "step"
    """Name of a step: "round" in federated training, else "step"."""
    steps: int = 0
    """Optimizer steps or rounds taken."""
    total_steps: int = 0
    """Those planned."""
    last_loss: float = math.nan
    """Loss of the last batch."""
    best_loss: float = math.nan
    """Lowest loss of a batch; where `sampled`, among those that were read."""
    metric_name: str = ""
    """Of the last evaluation: accuracy, perplexity, r2, mean_absolute_error or test_loss."""
    metric: float = math.nan
    test_loss: float = math.nan
    """Of the last evaluation."""
    samples_per_s: float = math.nan
    """See `Run.samples_per_s`; of a run in progress, and where `sampled`, the mean of the measured
    steps that were read."""
    disturbance: str = ""
    """See `StepResults.disturbance`."""
    load_known: bool = True
    """Whether it is known what other programs used of the cores."""
    sampled: bool = False
    """Whether best loss, throughput and curve are of a sample of the steps, as the log is long."""
    complete: bool = True
    """Whether best loss, throughput and curve were read; see `RunIndex.complete`."""
    curve: tuple[float, ...] = ()
    """The loss over the steps: up to 60 means, NaN where no loss was finite."""
    tags: tuple[str, ...] = ()
    notes: str = ""
