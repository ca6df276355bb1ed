"""The description of a model that all programs of a bundle are generated from."""

from __future__ import annotations

from typing import Any, NamedTuple

from workbench.artifacts.artifacts_folder import ArtifactsFolder
from workbench.errors import ArtifactsError

STEPS = 20
"""Optimizer steps that each program takes on the sample."""

TOLERANCE = 1e-3
"""Relative difference up to which a loss equals the expected one: rounding differs between
processors."""


class Tensor(NamedTuple):
    """An input, a target or an output."""

    name: str
    dtype: str
    """numpy's name, as "float32"."""
    shape: tuple[int | str, ...]
    """Shape in the model: a dynamic axis has a name."""
    sample_shape: tuple[int, ...]
    """Shape in the sample."""
    file: str
    """The values in the sample, row-major and little-endian; empty for an output."""

    @property
    def axes(self) -> str:
        """The model's shape as text."""
        return "(" + ", ".join(map(str, self.shape)) + ")"


class Description(NamedTuple):
    """A model, its sample, and the expected results of training on the sample."""

    model: str
    inputs: tuple[Tensor, ...]
    targets: tuple[Tensor, ...]
    results: tuple[Tensor, ...]
    """Outputs of the eval model: the loss first."""
    outputs: tuple[str, ...]
    """Names of the outputs of the exported model."""
    parameter: str
    """Name of the first trained parameter."""
    accumulation: int
    """Batches whose gradients are averaged for one optimizer step."""
    learning_rate: float
    loss_before: float
    """Loss of the sample with the parameters of the checkpoint, in evaluation mode."""
    loss_after: float
    """Loss after `steps` optimizer steps; without Dropout nearly the same on every device."""
    steps: int = STEPS
    tolerance: float = TOLERANCE

    @property
    def fed(self) -> tuple[Tensor, ...]:
        """Tensors passed to a step, in order: inputs, then targets."""
        return (*self.inputs, *self.targets)

    @property
    def rows(self) -> int:
        return self.inputs[0].sample_shape[0] if self.inputs[0].sample_shape else 1

    def to_json(self) -> dict[str, Any]:
        record = self._asdict()
        for group in ("inputs", "targets", "results"):
            record[group] = [tensor._asdict() for tensor in record[group]]
        return record


def fed_values(artifacts: ArtifactsFolder) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Inputs and targets of the eval model, as the manifest describes them.

    Raises:
        ArtifactsError: the manifest does not describe the graphs.
    """
    graphs = artifacts.manifest.get("graphs")
    if not isinstance(graphs, dict) or not {"eval", "inference"} <= graphs.keys():
        raise ArtifactsError(
            f"{artifacts.directory} was written by an older workbench, whose manifest does not "
            "describe the graphs. Generate the artifacts again."
        )
    parameters = {*artifacts.trainable, *artifacts.frozen}
    fed = [value for value in graphs["eval"]["inputs"] if value["name"] not in parameters]
    inputs = {value["name"] for value in graphs["inference"]["inputs"]}
    return (
        [value for value in fed if value["name"] in inputs],
        [value for value in fed if value["name"] not in inputs],
    )


def exported_outputs(artifacts: ArtifactsFolder) -> tuple[str, ...]:
    """Outputs of the model that its losses use: those that a device can export."""
    graphs = artifacts.manifest["graphs"]
    known = {value["name"] for value in graphs["inference"]["outputs"]}
    return tuple(value["name"] for value in graphs["eval"]["outputs"] if value["name"] in known)
