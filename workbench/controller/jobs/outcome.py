"""The result of runs as a page states it, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.compare.run_texts import trained_text
from workbench.display.number_format import loss_text, percent
from workbench.errors import with_full_stop
from workbench.runs import Run
from workbench.runs.failure import kept_checkpoint, log_line
from workbench.runs.run_title import failed_text, step_word, trained_by

DIVERGED = "not finite (a lower learning rate may help)"
NEGATIVE = (
    "A negative loss: nll takes log-probabilities, as of LogSoftmax; for outputs that are none, "
    "choose cross_entropy."
)


def name_of(run: Run) -> str:
    """Label of a run by model and engine, as "digits-mlp on pytorch, 2 processes"."""
    return f"{run.spec['model']} on {trained_by(run.spec)}"


def diverged(run: Run) -> bool:
    """Whether a run was completed, and the last test loss is not finite."""
    evaluation: dict[str, Any] | None = (run.summary or {}).get("evaluation")
    return run.status == "completed" and evaluation is not None and evaluation["loss"] is None


def is_negative(run: Run) -> bool:
    """Whether the last test loss is negative where it cannot be, of log-probabilities."""
    evaluation: dict[str, Any] | None = (run.summary or {}).get("evaluation")
    loss = None if evaluation is None else evaluation["loss"]
    return run.config.loss == "nll" and loss is not None and loss < 0


def outcome_of(run: Run) -> str:
    """The result of `run`, in sentences."""
    return "".join(_outcome_parts(run))


def outcome_of_training(
    engines: Sequence[str], runs: Mapping[str, Run], refused: Mapping[str, str]
) -> str:
    """The results of engines that trained one after another; those that came to the same share a
    line. The status has little room: what was trained is told last.

    Args:
        engines: in the order in which they train.
        runs: those started so far, by engine.
        refused: why an engine could not be started, by name.
    """
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    trained: dict[tuple[object, ...], list[Run]] = {}
    for engine in engines:
        run = runs.get(engine)
        if run is not None and run.status == "completed" and not diverged(run):
            trained.setdefault(_of_one_sentence(run), []).append(run)
        elif run is not None:
            before, by, after = _outcome_parts(run)
            sentence, _, log = after.partition("\nLog: ")
            groups.setdefault((before, sentence), []).append((by, log))
        elif engine in refused:
            groups[refused[engine], ""] = [("", "")]
    failed = [engine for engine in engines if engine in runs and runs[engine].status == "failed"]
    lines = [f"{listed(failed)} failed."] if len(failed) > 1 and len(groups) > 1 else []
    for (before, after), members in groups.items():
        names = listed([by for by, _ in members])
        whose = {by: f" of {by}" if len(runs) > 1 else "" for by, _ in members}
        logs = [f"\nLog{whose[by]}: {log}" for by, log in members if log]
        lines.append(f"{before}{names}{after}{''.join(logs)}")
    missing = [engine for engine in engines if engine not in runs and engine not in refused]
    if runs:
        cut = any(run.status in ("interrupted", "unreadable") for run in runs.values())
        lines += [f"Not started: {listed(missing)}."] if cut and missing else not_started(missing)
    return "\n".join([*lines, *map(_trained_sentence, trained.values())])


def not_started(engines: Sequence[str]) -> list[str]:
    """A sentence on engines before which a job was stopped; none if there are none."""
    return [f"Stopped before {listed(engines)} had started."] if engines else []


def listed(names: Sequence[str]) -> str:
    """As "pytorch, ondevice and ortmodule"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _outcome_parts(run: Run) -> tuple[str, str, str]:
    """The sentences before the engine, the engine with its processes or clients, and those
    after."""
    by = trained_by(run.spec)
    before, _, after = _outcome_sentence(run).partition(f" on {by}")
    return f"{before} on ", by, after


def _outcome_sentence(run: Run) -> str:
    done, total = run.progress
    name, step = name_of(run), step_word(run.spec)
    if run.status == "unreadable":
        return f"{name} cannot be read: {run.error}"
    if run.status == "failed":
        why = with_full_stop(run.error or "no reason is recorded")
        rest = f"{kept_checkpoint(run.folder, run.spec)}{log_line(run.folder)}"
        return f"{name} {failed_text(run.spec, done)}: {why}{rest}"
    if run.status == "stopped":
        rest = "Its checkpoint is kept." if done else "It took no step."
        return f"Stopped {name} at {step} {done:,} of {total:,}. {run.reason or rest}"
    if run.status == "interrupted":
        again = f'Resume it in Runs, or by wb.resume("{run.id}").' if run.checkpoint else ""
        said = f"Interrupted {name} at {step} {done:,} of {total:,}."
        return " ".join(filter(None, (said, run.reason, again)))
    return _trained_sentence([run])


def _of_one_sentence(run: Run) -> tuple[object, ...]:
    """Completed runs for which this is equal are told in one sentence."""
    known = {"loss": None, "accuracy": None} | ((run.summary or {}).get("evaluation") or {})
    tested = known["loss"] is not None, known["accuracy"] is not None
    further = trained_text(run.config), is_negative(run), run.reason
    return run.spec["model"], run.progress.done_steps, *tested, *further


def _trained_sentence(runs: Sequence[Run]) -> str:
    """That runs were completed, and what they came to; see `_of_one_sentence`."""
    first, step = runs[0], step_word(runs[0].spec)
    by = [trained_by(run.spec) for run in runs]
    losses, accuracies = list[str](), list[str]()
    for run in runs:
        if evaluation := (run.summary or {}).get("evaluation"):
            loss, accuracy = evaluation["loss"], evaluation["accuracy"]
            losses.append(DIVERGED if loss is None else loss_text(loss))
            accuracies += [] if accuracy is None else [f"{percent(accuracy)} %"]
    done = first.progress.done_steps
    parts = [
        f"{done:,} {step}{'' if done == 1 else 's'}",
        *_by_engine("test loss", losses, by),
        *_by_engine("test accuracy", accuracies, by),
    ]
    trained = f"Trained {first.spec['model']} on {listed(by)}: {', '.join(parts)}"
    why = NEGATIVE if is_negative(first) else ""
    return " ".join(filter(None, (f"{trained}{trained_text(first.config)}.", why, first.reason)))


def _by_engine(what: str, texts: Sequence[str], engines: Sequence[str]) -> list[str]:
    """As "test loss 0.0352 on pytorch and ortmodule, 0.0347 on ondevice"; once where all are equal;
    none without texts."""
    if len({*texts}) < 2:
        return [f"{what} {text}" for text in texts[:1]]
    found: dict[str, list[str]] = {}
    for text, engine in zip(texts, engines, strict=True):
        found.setdefault(text, []).append(engine)
    told = [f"{text} on {listed(names)}" for text, names in found.items()]
    return [f"{what} {', '.join(told)}"]
