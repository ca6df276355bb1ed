"""`load_model`: every source of a model, told apart by what it is."""

from __future__ import annotations

import sys
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from workbench.display.display_name import as_name, check_name
from workbench.errors import ModelError
from workbench.files.input_file import is_there
from workbench.models.model import Model
from workbench.models.sources.factory import FACTORY, FactorySource
from workbench.models.sources.memory import MemorySource
from workbench.models.sources.onnx import OnnxSource
from workbench.models.sources.sample import SampleSource, find_sample
from workbench.modules.dynamic_axes import DynamicAxes
from workbench.modules.example_inputs import as_examples
from workbench.modules.weights_file import TORCH_SUFFIXES, read_weights_file, refuse_as_model

if TYPE_CHECKING:
    import torch


def load_model(
    source: str | Path | torch.nn.Module,
    *,
    example_inputs: Any = None,
    dynamic_axes: DynamicAxes | None = None,
    name: str | None = None,
    seed: int = 0,
    weights: str | Path | None = None,
) -> Model:
    """Load a model.

    Args:
        source: the name of a sample, such as "digits-cnn"; the path of a .onnx file; an
            `nn.Module`, of which a copy is kept; or "package.module:factory", a function that
            returns an `nn.Module` or (`nn.Module`, example inputs), looked for in the working
            directory and where Python finds packages.
        example_inputs: for a module: an array, a tensor or a tuple of them, one an argument of
            `forward`, or a dict by the names of arguments. The first axis is the batch. Floats
            become float32, integers int64.
        dynamic_axes: for a module: names of the axes of its inputs that have any size beside the
            batch, such as {"input_ids": {1: "sequence"}}; axes of one name have one size.
        name: what runs and figures call it; None: taken from the source.
        seed: of the initial weights of a sample or a factory, 0 or more.
        weights: a .safetensors file, or a state dict that torch.save wrote, to start from.

    Raises:
        ModelError: the source is unknown, missing, damaged, too new or otherwise cannot be used;
            or the weights do not fit it.
    """
    check_name(name, ModelError)
    if not isinstance(seed, Integral) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise ModelError(f"seed={seed!r}: choose a whole number from 0 to below 2**63.")
    if not isinstance(weights, str | Path | None):
        raise ModelError(f"weights={type(weights).__name__}: give the path of a file.")
    model = _load(source, example_inputs, dynamic_axes, name, seed)
    if weights is not None:
        model = model.with_weights(read_weights_file(Path(weights)), str(weights))
    return model


def _load(
    source: Any, example_inputs: Any, dynamic_axes: DynamicAxes | None, name: str | None, seed: int
) -> Model:
    if _is_module(source):
        memory = MemorySource.of(source, as_examples(example_inputs), dynamic_axes)
        return Model(memory, name=name or type(source).__name__)
    if not isinstance(source, str | Path):
        raise ModelError(
            f"Cannot load a model from {type(source).__name__}. Give the name of a sample, the "
            'path of a .onnx file, an nn.Module, or "package.module:factory".'
        )
    if not str(source).strip() or (isinstance(source, Path) and source == Path()):
        raise ModelError(f"source={str(source)!r} names no model; give a sample's name or a path.")
    path = Path(source)
    if isinstance(source, str) and FACTORY.fullmatch(source):
        factory = FactorySource.of(source, seed, example_inputs, dynamic_axes)
        return Model(factory, name=name or source.rpartition(":")[2])
    if example_inputs is not None or dynamic_axes is not None:
        given = "example_inputs" if example_inputs is not None else "dynamic_axes"
        raise ModelError(
            f"{given} are for an nn.Module or a factory; {str(source)!r} knows its inputs."
        )
    if path.suffix in TORCH_SUFFIXES or path.suffix == ".safetensors":
        refuse_as_model(path)
    # A folder that is called as a sample is does not stand in its way.
    file = is_there(path) and not path.is_dir()
    if path.suffix == ".onnx" or isinstance(source, Path) or file:
        return Model(OnnxSource.of(path), name=name or as_name(path.stem))
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
