"""`load_model`: every source of a model, told apart by what it is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from workbench.errors import ModelError
from workbench.models.example_inputs import as_example_arrays
from workbench.models.memory_source import MemorySource
from workbench.models.model import Model
from workbench.models.sample_source import SampleSource, find_sample

if TYPE_CHECKING:
    import torch


def load_model(
    source: str | Path | torch.nn.Module,
    *,
    example_inputs: Any = None,
    name: str | None = None,
    seed: int = 0,
) -> Model:
    """Load a model.

    Args:
        source: the name of a sample, such as "digits-cnn"; or an `nn.Module`, of which a copy is
            kept, with `example_inputs`.
        example_inputs: an array, a tensor or a tuple of them, one an argument of `forward`, whose
            first axis is the batch. Floats become float32, integers int64.
        name: what runs and figures call it; None: taken from the source.
        seed: of the initial weights of a sample.

    Raises:
        ModelError: the source is unknown, missing, damaged, or cannot be used.
    """
    if _is_module(source):
        memory = MemorySource.of(source, as_example_arrays(example_inputs))
        return Model(memory, name=name or type(source).__name__)
    if not isinstance(source, str | Path):
        raise ModelError(
            f"Cannot load a model from {type(source).__name__}. Give the name of a sample, the "
            'path of a .onnx file, an nn.Module, or "package.module:factory".'
        )
    sample = find_sample(str(source))
    return Model(
        SampleSource(sample, seed),
        name=name or sample.name,
        card=sample.card,
        defaults=sample.defaults,
        dataset=sample.dataset_name,
    )


def _is_module(source: Any) -> TypeGuard[torch.nn.Module]:
    # A module can only exist where torch is loaded already.
    loaded = sys.modules.get("torch")
    return loaded is not None and isinstance(source, loaded.nn.Module)
