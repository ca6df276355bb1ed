"""What is said of the runs of a comparison beside their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.compare.lockstep import LockstepPlan
from workbench.display.quantities import thread_count
from workbench.machine.machine import machine_sentence
from workbench.run_folder.results.throughput import LEAST_STEPS, round_length
from workbench.runs import Run
from workbench.runs.record.contents import mark_of_data, shapes_of_model, structure_of_model
from workbench.runs.run_title import failed_text, step_word
from workbench.settings.config import TrainingConfig

MOST_PATTERNS = 2
"""Largest number of patterns of trained parameters that are named."""


def caption_of(runs: Mapping[str, Run], plan: LockstepPlan) -> str:
    """Model, dataset, main settings and machine of runs that are measured in lockstep."""
    run = next(iter(runs.values()))
    return (
        f"{run.spec['model']} on {run.spec['dataset']}, {_optimizer_text(run.config)}, "
        f"{plan.total} steps, first {plan.unmeasured} not measured"
        f"{trained_text(run.config)}, {_threads_text(runs)}; "
        f"{machine_sentence(run.spec.get('machine'))}"
    )


def _optimizer_text(config: TrainingConfig) -> str:
    return f"batch {config.batch_size}, {config.optimizer} with lr {config.learning_rate:g}"


def _threads_text(runs: Mapping[str, Run]) -> str:
    """The threads of all runs where they are the same, else of each: `wb.tune` may choose them."""
    counts = {
        name: thread_count(run.config.threads_of_a_process, run.config.processes)
        for name, run in runs.items()
    }
    if len({*counts.values()}) == 1:
        return next(iter(counts.values()))
    return ", ".join(f"{name} on {count}" for name, count in counts.items())


def trained_text(config: TrainingConfig) -> str:
    """Which parameters are trained, after a comma; empty: all are."""
    parts = []
    if config.requires_grad is not None:
        shown, more = config.requires_grad[:MOST_PATTERNS], config.requires_grad[MOST_PATTERNS:]
        rest = f" and {len(more)} more" if more else ""
        parts.append(f"trained parameters: {', '.join(shown)}{rest}")
    if config.lora is not None:
        parts.append(f"LoRA of rank {config.lora.rank}")
    return "".join(f", {part}" for part in parts)


def shortfalls(runs: Mapping[str, Run]) -> list[str]:
    """A sentence for each run that failed or cannot be read, and for each that was stopped long
    before another: its numbers are of the steps before."""
    states = {name: run.status for name, run in runs.items()}
    some_whole = not set(states.values()) <= {"stopped", "interrupted", "failed", "unreadable"}
    furthest = max((run.progress.done_steps for run in runs.values()), default=0)
    found = []
    for name, run in runs.items():
        done, total = run.progress
        # Those that are stopped together are within a turn of each other: a round or the warm-up.
        warmup_steps = run.config.warmup_steps
        behind = furthest - done > max(round_length(total, warmup_steps), warmup_steps)
        place = f"{step_word(run.spec)} {done:,} of {total:,}."
        match states[name]:
            case "failed" if _is_there(run):
                found.append(f"{name} {failed_text(run.spec, done, total)}.")
            case "unreadable":
                found.append(f"{name} has a record that cannot be read: {run.error}")
            case "stopped" | "interrupted" if (some_whole or behind) and _is_there(run):
                found.append(f"{name} was {states[name]} at {place}")
    return found or _cut_together(runs, states)


def _cut_together(runs: Mapping[str, Run], states: Mapping[str, str]) -> list[str]:
    """A sentence where all runs were stopped or interrupted within a turn of each other."""
    how = {*states.values()}
    if not runs or len(how) > 1 or not how <= {"stopped", "interrupted"}:
        return []
    done, totals = zip(*(run.progress for run in runs.values()), strict=True)
    if len({*totals}) > 1:
        return []
    first, last = min(done), max(done)
    steps = f"{first:,} to {last:,}" if first < last else f"{first:,}"
    subject = "All were" if len(runs) > 1 else "It was"
    word = step_word(next(iter(runs.values())).spec)
    return [f"{subject} {how.pop()}, at {word} {steps} of {totals[0]:,}."]


def in_progress(runs: Mapping[str, Run]) -> list[str]:
    """A sentence on the runs that have not ended: their numbers are of the steps so far."""
    names = [name for name, run in runs.items() if not run.ended]
    if not names:
        return []
    verb = "is" if len(names) == 1 else "are"
    return [f"{', '.join(names)} {verb} still in progress: the figures are of the steps so far."]


def resumptions(runs: Mapping[str, Run]) -> list[str]:
    """A sentence for each run that was resumed, or trained further."""
    steps = {name: run.spec.get("resumed_from") for name, run in runs.items()}
    return [
        f"{name} was resumed at {step_word(runs[name].spec)} {step:,}: its throughput is of all "
        "its steps, which were measured at different times."
        for name, step in steps.items()
        if isinstance(step, int)
    ]


def what_is_measured(run: Run) -> dict[str, Any]:
    """What has to be equal for speeds to compare: model, dataset, and whether it was measured in
    the turns of a comparison. Those of a notebook may be others of the same names."""
    folder = run.folder
    return {
        "model": (run.spec["model"], shapes_of_model(folder), structure_of_model(folder)),
        "dataset": what_it_trained_on(run),
        "measurement": bool(run.spec.get("comparison")),
    }


def what_it_trained_on(run: Run) -> tuple[str, str]:
    """What has to be equal for losses to compare: the name of the dataset, and a mark of its
    content."""
    return run.spec["dataset"], mark_of_data(run.folder)


def measured_differently(runs: Mapping[str, Run]) -> str:
    """A sentence where some runs were measured in the turns of a comparison and others were not;
    empty: all were, or none."""
    in_turns = [name for name, run in runs.items() if run.spec.get("comparison")]
    if not in_turns or len(in_turns) == len(runs):
        return ""
    verb = "was" if len(in_turns) == 1 else "were"
    return (
        f"{'; '.join(in_turns)} {verb} measured in the short turns of a comparison, and not as "
        "whole runs are."
    )


def failures_badge(runs: Mapping[str, Run]) -> str:
    """Which runs failed, before the badge; empty if none did."""
    failed = [name for name, run in runs.items() if run.status == "failed" and _is_there(run)]
    return f"{', '.join(failed)} failed: " if failed else ""


def _is_there(run: Run) -> bool:
    """Whether it was not deleted since."""
    return run.folder.path.exists()


def few_measured(steps: Mapping[str, int]) -> str:
    """Sentences on the runs of which few steps were measured; empty: there are none.

    Args:
        steps: number of measured steps, by name of the run.
    """
    return " ".join(
        f"{f'Only {count}' if count else 'No'} measured step{'' if count == 1 else 's'} of {name}."
        for name, count in steps.items()
        if count < LEAST_STEPS
    )


def shared_caption(runs: Mapping[str, Run]) -> str:
    """Model, dataset and machine of runs; those for which they are equal stand together."""
    names: dict[str, list[str]] = {}
    # Where they differ, they are among the settings that do.
    optimizers = {_optimizer_text(run.config) for run in runs.values()}
    optimizer = f", {next(iter(optimizers))}" if len(optimizers) == 1 else ""
    for name, run in runs.items():
        config = run.config
        text = (
            f"{run.spec['model']} on {run.spec['dataset']}{optimizer}"
            f"{trained_text(config)}, "
            f"{thread_count(config.threads_of_a_process, config.processes)}; "
            f"{machine_sentence(run.spec.get('machine'))}"
        )
        names.setdefault(text, []).append(name)
    if len(names) == 1:
        return next(iter(names))
    return " | ".join(f"{', '.join(each)}: {text}" for text, each in names.items())
