"""Starts a run from other weights: those of a run, or of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.errors import ConfigError, ModelError, nearest, value_text
from workbench.files.sha256 import sha256
from workbench.files.user_path import user_path
from workbench.models import Model
from workbench.models.sources.onnx import OnnxSource
from workbench.models.weights_file import TORCH_SUFFIXES, read_weights_file
from workbench.runs.adapted_weights import AdaptedWeights
from workbench.runs.run import Run

SHOWN = 8
"""Number of names in a message."""


class BaseCheckpoint(NamedTuple):
    """Initial weights, and their origin."""

    weights: dict[str, np.ndarray]
    """Parameters and buffers by name; adapters are merged into them."""
    source: str
    """For messages."""
    record: dict[str, Any]
    """For the record of a run."""
    has_others: bool = False
    """Whether it may contain constants besides weights."""

    @classmethod
    def of(cls, base: Any, run: Run | None) -> BaseCheckpoint:
        """Read the weights of `run`, or else of the file `base`; nothing is unpickled.

        Raises:
            ConfigError: `base` is not such a file.
            ModelError: it cannot be read.
            RunError: the run has written no checkpoint.
        """
        if run is not None:
            weights = run.weights()
            if run.config.lora is not None:
                weights = AdaptedWeights.of(run.spec, run.config.lora, weights).merged()
            checkpoint = run.checkpoint
            step = None if checkpoint is None else int(checkpoint.name.removeprefix("step-"))
            return cls(weights, f"run {run.id}", {"run": run.id, "step": step})
        path = user_path(base)
        if path.suffix == ".onnx":
            weights = OnnxSource.of(path).weights()
        elif path.suffix == ".safetensors":
            weights = read_weights_file(path)
        else:
            why = "may hold pickles" if path.suffix in TORCH_SUFFIXES else "is neither"
            raise ConfigError(
                [
                    f"base={value_text(str(base))}: give a run, its id, or a .safetensors or .onnx "
                    f"file; this {why}."
                ]
            )
        record = {"file": str(path.absolute()), "sha256": sha256(path)}
        return cls(weights, str(path), record, has_others=path.suffix == ".onnx")


def is_weights_file(base: object) -> bool:
    """Whether `base` names a file by its suffix, and not a run."""
    return isinstance(base, str | Path) and Path(base).suffix in {
        ".onnx",
        ".safetensors",
        *TORCH_SUFFIXES,
    }


def with_base(model: Model, base: BaseCheckpoint, base_except: Sequence[str]) -> Model:
    """`model` with the weights of `base` as initial ones.

    Buffers that `base` lacks keep their values too, as do those of every weight that matches
    `base_except`.

    Raises:
        ConfigError: a pattern matches no weight.
        ModelError: lists the weights that `base` lacks, that the model lacks, of other shapes, and
            of another type, such as integers for floats.
    """
    own = model.weights()
    excepted = _excepted({**own, **base.weights}, base_except)
    missing = [name for name in model.parameter_names if name not in base.weights]
    unknown = [] if base.has_others else [name for name in base.weights if name not in own]
    shared = [name for name in own if name in base.weights]
    other_type = [name for name in shared if own[name].dtype.kind != base.weights[name].dtype.kind]
    other_shape = [name for name in shared if own[name].shape != base.weights[name].shape]
    found = {
        "it lacks": {name: repr(name) for name in missing},
        "it has unknown": {name: repr(name) for name in unknown},
        "of another shape are": {
            name: f"{name!r} {list(base.weights[name].shape)} (expected {list(own[name].shape)})"
            for name in other_shape
        },
        "of another type are": {
            name: f"{name!r} {base.weights[name].dtype.name} (expected {own[name].dtype.name})"
            for name in other_type
        },
    }
    listed = {
        what: [text for name, text in names.items() if name not in excepted]
        for what, names in found.items()
    }
    problems = [f"{what} {_listed(texts)}" for what, texts in listed.items() if texts]
    if problems:
        raise ModelError(
            f"The weights of {base.source} do not fit model {model.name!r}: {'; '.join(problems)}. "
            "Use weights of this model, or name in base_except those to leave at their initial "
            "values."
        )
    taken = {name: base.weights[name] for name in shared if name not in excepted}
    kept = {name: own[name] for name in model.parameter_names if name in excepted}
    return model.with_weights({**kept, **taken}, base.source)


def _excepted(names: Mapping[str, Any], patterns: Sequence[str]) -> set[str]:
    problems = [
        f"base_except pattern {pattern!r} matches no weight. {nearest(pattern, names)}"
        for pattern in patterns
        if not any(fnmatchcase(name, pattern) for name in names)
    ]
    if problems:
        raise ConfigError(problems)
    return {name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)}


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
