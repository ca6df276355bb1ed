"""Problems of settings that refer to something else: to parameters, data, a run or a file."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from workbench.errors import ConfigError, RunFolderError, WorkbenchError, nearest, value_text
from workbench.files.input_file import is_file
from workbench.files.user_path import user_path
from workbench.lora.linear_weight import targeted_weights
from workbench.models import Model
from workbench.settings.config import TUNINGS, TrainingConfig, make_config
from workbench.tuning_results.record import TuningFileError, read_tuning

BATCH_SIZE = TrainingConfig.model_fields["batch_size"].default
LEAST_MEMORY_BYTES = 50_000_000
"""Memory that every worker takes: with less it would fail at once."""
NOTHING = "(none)"
"""The pattern of a tree of parameters of which none is checked; parameter_scopes.ts has it too."""


def reference_problems(
    settings: Mapping[str, Any],
    further: Mapping[str, Any],
    model: Model | None,
    train_rows: int | None = None,
) -> dict[str, str]:
    """The settings that refer to what does not exist, by field, in a sentence each.

    Args:
        settings: as `ReadSettings.settings`, with the defaults of the model.
        further: as `ReadSettings.further`.
        model: the model whose parameters patterns refer to; None: patterns are not checked.
        train_rows: number of training rows; None: the size of batches is not checked.
    """
    base, patterns = further.get("base", ""), further.get("base_except", ())
    found = {
        "base": _base_problem(base) if base else "",
        "base_except": _except_problem(patterns, base, model) if patterns else "",
        "tuning": _tuning_problem(settings.get("tuning", "")),
    }
    limit = settings.get("memory_limit_bytes")
    if isinstance(limit, int) and 0 < limit < LEAST_MEMORY_BYTES:
        least = f"{LEAST_MEMORY_BYTES / 1e6:.0f} MB"
        found["memory_limit_bytes"] = f"A worker takes more before its first step: {least} or more."
    batch_size = settings.get("batch_size", BATCH_SIZE)
    if train_rows is not None and isinstance(batch_size, int) and batch_size > train_rows:
        fewer = f"There are {train_rows:,} training rows, fewer than a batch of {batch_size:,}"
        found["batch_size"] = f"{fewer}: give at most that."
    if model is not None:
        names = model.parameter_names
        missing = _unmatched(settings.get("requires_grad", ()), names)
        nothing = "Nothing would be trained: choose at least one parameter."
        found["requires_grad"] = (
            nothing if missing == [NOTHING] else _no_match("parameter", missing, names)
        )
        if settings.get("lora") is not None:
            found |= _lora_problems(settings["lora"], model)
    return {name: problem for name, problem in found.items() if problem}


def _base_problem(base: str) -> str:
    from workbench.load.base_sample import base_samples
    from workbench.models.weights_file import TORCH_SUFFIXES
    from workbench.runs import load_run
    from workbench.runs.continuation.base_checkpoint import is_weights_file

    if base in base_samples():
        return ""
    if is_weights_file(base):
        if Path(base).suffix in TORCH_SUFFIXES:
            return "May hold pickles, which are not read: give a .safetensors or .onnx file."
        return "" if is_file(user_path(base)) else f"There is no file {value_text(base)}."
    try:
        load_run(base)
    except RunFolderError as error:
        return str(error)
    return ""


def _except_problem(patterns: Sequence[str], base: str, model: Model | None) -> str:
    if not base:
        return "Applies only with Initial weights: fill in that field too."
    if model is None or not _unmatched(patterns, model.parameter_names):
        return ""
    own = [*model.weights()]  # with buffers
    missing = _unmatched(patterns, own)
    if not missing:
        return ""
    try:
        others = _names_in(base, _stamp(base))
    except (WorkbenchError, OSError):
        return ""  # the field of the base says so
    return _no_match("weight", _unmatched(missing, others), own)


@functools.lru_cache(maxsize=1)
def _names_in(base: str, stamp: object) -> tuple[str, ...]:  # noqa: ARG001
    """Names of the weights of a base checkpoint; `stamp` changes with it."""
    from workbench.load.base_sample import base_checkpoint, base_samples
    from workbench.runs import load_run
    from workbench.runs.continuation.base_checkpoint import BaseCheckpoint, is_weights_file

    given = base_checkpoint(base) if base in base_samples() else base
    run = None if is_weights_file(given) else load_run(given)
    return tuple(BaseCheckpoint.of(given, run).weights)


def _stamp(base: str) -> object:
    from workbench.load.base_sample import base_samples
    from workbench.runs import load_run
    from workbench.runs.continuation.base_checkpoint import is_weights_file

    if base in base_samples():
        return None
    return (
        user_path(base).stat().st_mtime_ns if is_weights_file(base) else load_run(base).checkpoint
    )


def _lora_problems(lora: Any, model: Model) -> dict[str, str]:
    """Of targets that are no linear layers, and a rank that is too large for one of them."""
    found: dict[str, str] = {}
    try:
        options = make_config({"lora": lora}).lora
        if options is not None:
            targeted_weights(model.linear_weights, model.parameter_shapes, options)
    except ConfigError as error:
        for name in ("lora.rank", "lora.targets"):
            own = [each for each in error.problems if each.startswith(name)]
            if own:  # of many layers the first stands for all
                text = own[0].removeprefix(name).lstrip("=: ")
                found[name] = text[0].upper() + text[1:]
    return found


def _tuning_problem(tuning: str) -> str:
    if not tuning or tuning in TUNINGS or "\0" in tuning:
        return ""
    path = user_path(tuning)
    if not is_file(path):
        return f"There is no file {value_text(tuning)}: give {', '.join(TUNINGS)}, or its path."
    try:
        read_tuning(path)
    except (TuningFileError, FileNotFoundError) as error:
        return f"{value_text(tuning)} is not a file that workbench tune wrote: {error}."
    return ""


def _unmatched(patterns: Sequence[str], names: Iterable[str]) -> list[str]:
    known = [*names]
    return [each for each in patterns if not any(fnmatchcase(name, each) for name in known)]


def _no_match(what: str, patterns: Sequence[str], names: Iterable[str]) -> str:
    return " ".join(
        f"No {what} matches {value_text(pattern)}. {nearest(pattern, names)}"
        for pattern in patterns
    )
