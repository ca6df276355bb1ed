"""What a page offers to go on with: runs in progress, those that ended too soon, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from workbench.compare.recorded_throughputs import record_interrupted
from workbench.controller.jobs.job import Job
from workbench.controller.jobs.model_to_resume import is_in_notebook
from workbench.controller.jobs.next_engines import next_engines
from workbench.controller.jobs.outcome import listed, name_of
from workbench.controller.jobs.start import Load, start_like
from workbench.controller.jobs.training import Training
from workbench.controller.recorded_runs.recorded_comparisons import recorded_comparisons
from workbench.controller.restore import missing_names, restored
from workbench.controller.setup import Setup
from workbench.errors import RunFolderError, WorkbenchError
from workbench.models import Model
from workbench.run_folder.run_folder import RunFolder, home
from workbench.runs import Run, resume
from workbench.runs.active import active_folders
from workbench.runs.continuation.resuming import needs_model
from workbench.runs.failure import latest_step
from workbench.runs.run_title import step_word

LOOKED_AT = 20
"""Number of newest runs that are searched for interrupted ones."""
OFFERED = 3
"""Largest number of offers of a kind, the newest."""
ENDINGS = {"failed": "failed after", "stopped": "was stopped at"}
"""Of runs that have ended before they were completed: how this is said."""


class Offer(NamedTuple):
    """One run, or a comparison."""

    id: str
    action: str
    """"follow" a run in progress, "resume" one that has ended before it was completed, "train" the
    engines that a stop has kept from their first step, "begin" a training again that has no
    checkpoint later than its start, "wait" for cells that it needs, or "open" a comparison."""
    text: str
    """How it ended and what follows, in a sentence."""
    run: Run
    """The run, or one of the comparison. That of a job knows the user's own code, as no record
    does."""
    training: Training | None = None
    """The job of several engines of which it is a run, which goes on; None: it is resumed alone."""


def offers(names: Mapping[str, Any]) -> list[Offer]:
    """Offers of the working directory, newest first.

    Args:
        names: the objects of the notebook by name.
    """
    waiting = _waiting_runs()
    if not waiting:
        return []
    comparisons = {run: each for each in recorded_comparisons() for run in each.runs}
    found: dict[str, Offer] = {}
    for run in waiting:
        comparison = comparisons.get(run.id)
        if run.ended and run.status != "interrupted":
            continue  # it has ended since it was found
        if comparison is None:
            found[run.id] = _of_run(run, names)
        else:
            text = f"The comparison of {comparison.title} {_place(run)}"
            found.setdefault(comparison.id, Offer(comparison.id, "open", text, run))
            record_interrupted(comparison.id)
    return list(found.values())[:OFFERED]


def _of_run(run: Run, names: Mapping[str, Any]) -> Offer:
    """What is offered of a run that is in progress or was interrupted."""
    if not run.ended:
        after = Training.waiting_after(run)
        further = f" {listed(after)} will train after it." if after else ""
        return Offer(run.id, "follow", f"{name_of(run)} {_place(run)}{further}", run)
    missing = missing_names(run, names)
    cells = f"first execute the cells that define {listed(missing)}." if missing else ""
    if latest_step(run.folder):
        then = _if_taken(run, "resume it")
        needed = _needed(run, "goes on", names) if _needs_model(run) else ""
        if cells and (then or needed):
            needed = f" For that, {cells}" if then else f" To resume it, {cells}"
        text = f"{name_of(run)} {_place(run)}{then}{needed}"
        return Offer(run.id, "resume", text, run)
    first = "checkpoint" if run.progress.done_steps else step_word(run.spec)
    text = f"{name_of(run)} was interrupted before its first {first}."
    if missing:
        after = next_engines(run.folder)
        then = f", and {listed(after)} after it" if after else ""
        return Offer(run.id, "wait", f"{text} To train it again{then}, {cells}", run)
    needed = "" if restored(run).model else _needed(run, "trains", names)
    return Offer(run.id, "begin", f"{text}{_if_taken(run, 'train again')}{needed}", run)


def _place(run: Run) -> str:
    """As "was interrupted at step 4 of 9."."""
    done, total = run.progress
    going = "is paused at" if run.status == "paused" else "is in progress:"
    how = "was interrupted at" if run.ended else going
    return f"{how} {step_word(run.spec)} {done:,} of {total:,}."


def offers_of(job: Job) -> list[Offer]:
    """The runs of a training that were stopped or failed and can be resumed from a checkpoint; if
    there are none, the engines that a stop has kept from training."""
    if not isinstance(job, Training):
        return []
    whole = job if len(job.engines) > 1 else None
    then = f"; if you resume it, {listed(job.waiting)} will train after it" if job.waiting else ""
    found = list[Offer]()
    for run in job.runs.values():
        if run.status not in ENDINGS:
            continue
        (done, total), step = run.progress, latest_step(run.folder)
        if step and done < total:  # from step 0 it would only begin again
            word = step_word(run.spec)
            text = f"{name_of(run)} {ENDINGS[run.status]} {word} {done:,} of {total:,}"
            goes_on = "" if step == done else f"; it goes on from {word} {step:,}"
            # They train once, after the first that goes on.
            found.append(
                Offer(run.id, "resume", f"{text}{goes_on}{'' if found else then}.", run, whole)
            )
    if not found and whole is not None and whole.status == "stopped" and whole.untrained:
        last = list(whole.runs.values())[-1]
        model, names = last.spec["model"], listed(whole.untrained)
        text = f"{names} did not train {model}, as it was stopped; the settings are those of then."
        return [Offer(whole.id, "train", text, last, whole)]
    return found[:OFFERED]


def taken_up(offer: Offer, job: Job) -> bool:
    """Whether a job that was started goes on with what is offered, or begins it again."""
    runs = job.runs.values()
    again = offer.action in ("begin", "wait") and _trained(offer.run) in map(_trained, runs)
    return again or any(run.id == offer.id for run in runs)


def _trained(run: Run) -> tuple[str, str]:
    return str(run.spec["model"]), run.engine


def _if_taken(run: Run, what: str) -> str:
    """Which engines train after an interrupted run if a user does what is offered, as a sentence
    after another; empty: none."""
    after = next_engines(run.folder)
    return f" If you {what}, {listed(after)} will train after it." if after else ""


def _needed(run: Run, goes_on: str, names: Mapping[str, Any]) -> str:
    """Where a run that your own code builds has its model from, as a sentence after another."""
    own = str(run.spec["model"])
    if is_in_notebook(run, names):
        return f" It {goes_on} with {own} of this notebook."
    return f" It needs your own {own}, chosen in Model."


def accepted(
    offer: Offer,
    model_for: Callable[[Run], Model | None],
    loading: Callable[[Setup], Load],
) -> Job:
    """The job that goes on with what was offered.

    Args:
        offer: of a run, whose action is not "begin".
        model_for: returns the model that a run needs to be resumed; None: it needs none.
        loading: returns what loads the model and the dataset of a setup.
    """
    if offer.action == "follow":
        return Training.following(offer.run)
    if offer.action == "train" and offer.training is not None:
        return offer.training.continued()
    run = resume(offer.run, model=model_for(offer.run))
    return going_on(run, loading) if offer.training is None else offer.training.resumed(run)


def going_on(run: Run, loading: Callable[[Setup], Load]) -> Training:
    """The job of a run that was resumed, and of the engines that were to train after it.

    Args:
        run: the run.
        loading: returns what loads the model and the dataset of a setup.
    """
    if (job := Training.resumed_with(run)) is not None:
        return job
    if not (after := next_engines(run.folder)):
        return Training.of(run)
    return Training(start_like(run, loading), [run.engine, *after], {run.engine: run})


def _needs_model(run: Run) -> bool:
    """See `needs_model`; a damaged model is said when the run is resumed."""
    try:
        return needs_model(run)
    except WorkbenchError:
        return False


def _waiting_runs() -> list[Run]:
    """The newest runs that are in progress or were interrupted, newest first; one that could only
    begin again if its engine has not trained the same model since."""
    folder = home() / "runs"
    active = {path.resolve() for path in active_folders()}
    names = sorted((path for path in folder.glob("*") if path.is_dir()), reverse=True)
    found = []
    since = set[tuple[str, str]]()
    for path in names[:LOOKED_AT]:
        try:
            run = Run(RunFolder(path))
        except RunFolderError:
            continue
        done, total = run.progress
        cut = run.status == "interrupted" and done < total
        lasting = cut and (_trained(run) not in since or latest_step(run.folder))
        if (path.resolve() in active and not run.ended) or lasting:
            found.append(run)
        since.add(_trained(run))
    return found
