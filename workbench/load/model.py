"""`load_model`: loads a model from any supported source."""

from __future__ import annotations

import os
import sys
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from workbench.display.display_name import as_name, check_name
from workbench.errors import ModelError, nearest, value_text
from workbench.files.input_file import path_exists, refuse_url
from workbench.files.user_path import user_path
from workbench.load.base_sample import base_checkpoint
from workbench.models import Model
from workbench.models.sources.factory import FACTORY, FactorySource
from workbench.models.sources.memory import MemorySource
from workbench.models.sources.onnx import OnnxSource
from workbench.models.sources.sample import SampleSource
from workbench.models.weights_file import TORCH_SUFFIXES, read_weights_file, refuse_as_model
from workbench.modules.dynamic_axes import DynamicAxes
from workbench.modules.example_inputs import as_examples
from workbench.modules.specs import ModuleSpecs

if TYPE_CHECKING:
    import torch

    from sample_models import Sample


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
            `nn.Module`, which is copied; or "package.module:factory", a function that returns an
            `nn.Module` or (`nn.Module`, example inputs), searched in the working directory and in
            `sys.path`.
        example_inputs: for a module: an array, a tensor or a tuple of them, one per argument of
            `forward`, or a dict by argument names. The first axis is the batch. Floats become
            float32, integers int64.
        dynamic_axes: for a module: names of the dynamic axes of its inputs other than the batch,
            such as {"input_ids": {1: "sequence"}}; axes with the same name have the same size.
        name: display name; None: derived from the source.
        seed: random seed for the initial weights of a sample or a factory, 0 or more.
        weights: initial weights: a .safetensors file, or a state dict saved by torch.save; or
            "base": the base checkpoint of the sample.

    Raises:
        ModelError: the source is unknown, missing, corrupt, too new or not supported; or the
            weights do not fit it.
    """
    check_name(name, ModelError)
    if not isinstance(seed, Integral) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise ModelError(f"seed={seed!r}: must be an integer from 0 to below 2**63.")
    if not isinstance(weights, str | Path | None):
        raise ModelError(f"weights must be the path of a file, not {type(weights).__name__}.")
    model = _load(source, example_inputs, dynamic_axes, name, seed)
    if weights == "base":
        weights = base_checkpoint(str(source))
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
            f"Cannot load a model from {type(source).__name__}. Pass the name of a sample, the "
            'path of a .onnx file, an nn.Module, or "package.module:factory".'
        )
    if not str(source).strip() or (isinstance(source, Path) and source == Path()):
        raise ModelError(f"source={str(source)!r}: pass the name of a sample or a path.")
    if isinstance(source, str):
        refuse_url(source, ModelError)
    path = user_path(source)
    if isinstance(source, str) and FACTORY.fullmatch(source):
        factory = FactorySource.of(source, seed, example_inputs, dynamic_axes)
        return Model(factory, name=name or source.rpartition(":")[2])
    if example_inputs is not None or dynamic_axes is not None:
        given = "example_inputs" if example_inputs is not None else "dynamic_axes"
        raise ModelError(
            f"{given} can only be used with an nn.Module or a factory, not with {str(source)!r}."
        )
    if path.suffix in TORCH_SUFFIXES or path.suffix == ".safetensors":
        refuse_as_model(path)
    # A folder with the name of a sample is ignored.
    file = path_exists(path) and not path.is_dir()
    if path.suffix == ".onnx" or isinstance(source, Path) or file:
        return Model(OnnxSource.of(path), name=name or as_name(path.stem))
    if os.sep in str(source) and path_exists(path):
        raise ModelError(f"{path} is a folder: give the path of an .onnx file in it.")
    sample = find_sample(str(source))
    return Model(
        SampleSource(sample.name, seed, ModuleSpecs(sample.inputs, sample.outputs)),
        name=name or sample.name,
        card=sample.card,
        defaults=sample.defaults,
        dataset=sample.dataset_name,
    )


def find_sample(name: str) -> Sample:
    """The sample of that name.

    Raises:
        ModelError: there is none; the nearest names are offered.
    """
    from sample_models import SAMPLES

    if name not in SAMPLES:
        raise ModelError(
            f"No model {value_text(name)}: there is no sample or .onnx file of that name. "
            f"{nearest(name, SAMPLES)}"
        )
    return SAMPLES[name]


def _is_module(source: Any) -> TypeGuard[torch.nn.Module]:
    # A module can only exist once torch is loaded; another thread may be loading it now.
    module_class = getattr(sys.modules.get("torch.nn"), "Module", None)
    return module_class is not None and isinstance(source, module_class)
