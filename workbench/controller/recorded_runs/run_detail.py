"""The details of one recorded run."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from workbench.controller.recorded_runs.worst_rows import ShownRow, WorstRowsReader
from workbench.controller.restore import default_settings
from workbench.display.number_format import loss_text, megabytes, percent, significant
from workbench.display.quantities import duration_text
from workbench.machine.load import Load
from workbench.run_folder.results.step_results import StepResults
from workbench.run_folder.run_reader import NewPoints
from workbench.run_folder.worst_predictions import read_worst_predictions
from workbench.runs import Run
from workbench.runs.failure import kept_checkpoint
from workbench.runs.record.duration import started_at
from workbench.runs.record.history import evaluations_frame
from workbench.runs.run_title import trained_by
from workbench.settings.config import TrainingConfig
from workbench.settings.setting_labels import setting_label, setting_text

FOLDER_GONE = (
    "The folder of this run was removed by another program. This view shows its record as last "
    "read; the run cannot be resumed or exported any more."
)

LONGEST = 120
"""Of a setting, in characters."""

Facts = list[tuple[str, str]]
"""Names and values to show."""


class RunPoints(NamedTuple):
    """All that a run has recorded of its steps."""

    run: Run
    points: NewPoints
    results: StepResults


class RunDescription(NamedTuple):
    """Details of a recorded run, for display."""

    run_id: str
    heading: str
    facts: Facts
    settings: Facts
    """Settings that differ from their defaults."""
    problem: str
    """Why the run failed, was interrupted, or deviates from its plan, and what is missing of its
    record; may be empty."""
    traceback: str
    """Traceback of the failure, if it has one."""
    points: RunPoints | None = None
    """None if no step was taken, and of a federated run."""
    worst: tuple[ShownRow, ...] = ()
    """The rows of the test split that it predicted worst; empty where none are recorded."""
    worst_problem: str = ""
    """Why they cannot be shown; may be empty."""
    federated: Run | None = None
    """The run, if it is federated: its rounds and clients are shown in place of charts."""
    classes: tuple[str, ...] = ()
    """Names of the classes of its dataset, if it is federated."""


def describe_run(run: Run) -> RunDescription:
    """The details of a run: facts, settings and failure, and what it has recorded."""
    done, total = run.progress
    points = run.follow().poll()
    evaluations = evaluations_frame(points)
    summary, federation = run.summary or {}, run.federation
    facts: Facts = [
        ("Id", run.id),
        ("Status", run.status),
        ("Model", str(run.spec["model"])),
        ("Dataset", f"{run.spec['dataset']}, {run.spec['samples']:,} training samples"),
        ("Engine", trained_by(run.spec)),
        ("Rounds" if federation else "Steps", f"{done:,} of {total:,}"),
    ]
    if federation is not None:
        options = federation.options
        facts.append(("Federation", f"{options.strategy}, rows divided by {federation.split}"))
    if not math.isnan(started_at(run.spec)):
        facts.append(("Started", _clock(started_at(run.spec))))
    if not math.isnan(run.duration_s):
        pauses = ", pauses included" if run.was_paused else ""
        facts.append(("Duration", f"{duration_text(run.duration_s)}{pauses}"))
    if len(points.loss):
        facts.append(("Last loss", loss_text(float(points.loss[-1]))))
    results = run.step_results(points)
    if math.isfinite(results.samples_per_s):
        facts.append(("Throughput", f"{significant(results.samples_per_s)} samples/s"))
        facts.append(("Machine", _machine_text(results.load)))
    if len(evaluations):
        last = evaluations.iloc[-1]
        known = [(name, text) for name, text in METRICS if not math.isnan(last[name])]
        facts += [(text, metric_text(name, last[name])) for name, text in known]
    if summary.get("peak_rss_bytes"):
        facts.append(("Peak memory", f"{megabytes(summary['peak_rss_bytes'])} MB"))
    facts += [("Tags", ", ".join(run.tags))] if run.tags else []
    facts += [("Notes", run.notes)] if run.notes else []
    facts += [("Checkpoint", str(run.checkpoint))] if run.checkpoint else []
    facts.append(("Folder", str(run.folder.path)))
    error = summary.get("error") or summary.get("resume_error") or {}
    reason = run.reason
    if run.status == "completed" and reason and not error:  # it stopped early, which is no failure
        facts.append(("Ended", reason))
        reason = ""
    problem = " ".join(filter(None, (run.error, reason, run.damage)))
    if run.status == "failed":
        problem += kept_checkpoint(run.folder, run.spec)
        facts.append(("Log", str(run.folder.log_path)))
    worst, worst_problem = _worst_rows(run)
    return RunDescription(
        run_id=run.id,
        heading=run.title,
        facts=facts,
        settings=_settings(run),
        problem=problem,
        traceback=str(error.get("traceback", "")),
        points=RunPoints(run, points, results) if done and federation is None else None,
        worst=tuple(worst),
        worst_problem=worst_problem,
        federated=run if federation else None,
        classes=tuple(WorstRowsReader().classes(run)) if federation else (),
    )


def _worst_rows(run: Run) -> tuple[list[ShownRow], str]:
    """`WorstRowsReader.rows` for a run that has recorded some; else the dataset is not read."""
    return WorstRowsReader().rows(run) if read_worst_predictions(run.folder) else ([], "")


def _machine_text(load: Load | None) -> str:
    if load is None:
        return "load not known"
    return f"{'busy' if load.busy else 'quiet'} meanwhile: {load.sentence}"


METRICS = (
    ("loss", "Test loss"),
    ("accuracy", "Test accuracy"),
    ("perplexity", "Test perplexity"),
    ("r2", "Test R²"),
    ("mean_absolute_error", "Test mean absolute error"),
)
"""Columns of `Run.evaluations` and their labels."""


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def metric_text(name: str, value: float) -> str:
    """91.6 % of accuracy, 0.0352 of a loss; other metrics with three digits."""
    if name == "loss":
        return loss_text(value)
    return f"{percent(value)} %" if name == "accuracy" else significant(value)


def _settings(run: Run) -> Facts:
    """Those that differ from the defaults of its model and machine; the engine is a fact."""
    config, defaults = run.config, default_settings(run)
    left_out = {"engine"} if run.federation is None else {"engine", "steps"}
    if config.steps is not None:
        left_out.add("epochs")
    if config.threads == (run.spec.get("machine") or {}).get("cores"):
        left_out.add("threads")
    return [
        (setting_label(name), _shortened(setting_text(name, getattr(config, name))))
        for name in TrainingConfig.model_fields
        if name not in left_out and getattr(config, name) != getattr(defaults, name)
    ]


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
