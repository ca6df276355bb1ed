"""The samples that come with a base checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from workbench.errors import ModelError, nearest, value_text
from workbench.files.input_file import is_file
from workbench.models.sources.sample import PACKAGE
from workbench.specs import TensorSpec


class BaseSample(NamedTuple):
    """A sample with the checkpoint that personalisation begins with."""

    name: str
    kind: Literal["image", "audio", "text"]
    """Kind of the examples that it is personalised with."""
    classes: tuple[str, ...]
    """Classes of its first outputs; further outputs are unassigned."""
    head: tuple[str, ...]
    """fnmatch patterns of the parameters of its last layer."""
    checkpoint: Path
    """A .safetensors file with every parameter."""
    graph: Path
    """An .onnx file of its inference graph, whose parameters have no values."""
    input: TensorSpec
    output: TensorSpec


def base_samples() -> dict[str, BaseSample]:
    """All samples whose base checkpoint is installed, by name."""
    from sample_models import SAMPLES
    from sample_models.sample import BASE_FILE, GRAPH_FILE

    return {
        name: BaseSample(
            name,
            sample.base.kind,
            sample.base.classes,
            sample.base.head,
            _folder(name) / BASE_FILE,
            _folder(name) / GRAPH_FILE,
            sample.inputs[0],
            sample.outputs[0],
        )
        for name, sample in SAMPLES.items()
        if sample.base is not None and is_file(_folder(name) / BASE_FILE)
    }


def _folder(name: str) -> Path:
    return PACKAGE / name.replace("-", "_")


def base_checkpoint(name: str) -> Path:
    """The base checkpoint of the sample `name`.

    Raises:
        ModelError: it has none.
    """
    known = base_samples()
    if name not in known:
        raise ModelError(
            f"Sample {value_text(name)} has no base checkpoint. {nearest(str(name), known)}"
        )
    return known[name].checkpoint
