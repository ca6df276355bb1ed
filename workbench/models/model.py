"""A model: what the workbench knows of it, and the ways to have it built, saved and exported."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import ModelError
from workbench.models.source import Source
from workbench.models.specs import Layer, ParameterSpec, TensorSpec
from workbench.temporary_folder import temporary_folder
from workbench.user_code import UserCode

if TYPE_CHECKING:
    import onnx
    import torch

FORMAT_VERSION = 1
"""Version of the saved layout, written in model.json. A newer one is refused."""

WEIGHTS_FILE = "weights.safetensors"


class Model:
    """A model to look at, train and export. Made by `load_model` or `load_saved`.

    Attributes:
        name: what runs and figures call it.
        card: one paragraph on what it is; may be empty.
        defaults: settings of `TrainingConfig` that suit it.
        dataset: name of the sample dataset that goes with it, or None.
    """

    def __init__(
        self,
        source: Source,
        *,
        name: str,
        card: str = "",
        defaults: Mapping[str, Any] | None = None,
        dataset: str | None = None,
        initial: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.name = name
        self.card = card
        self.defaults: dict[str, Any] = dict(defaults or {})
        self.dataset = dataset
        self._source = source
        # Contiguous, for safetensors writes the memory of an array as it lies.
        self._initial = {n: np.array(v, order="C") for n, v in (initial or {}).items()}

    def __repr__(self) -> str:
        inputs = ", ".join(f"{spec.name} {list(spec.shape)}" for spec in self.inputs)
        return f"Model({self.name!r}, {self._source.kind}, inputs: {inputs})"

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Inputs in the order in which they are fed."""
        return self._source.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Outputs; the loss reads the first."""
        return self._source.outputs

    @property
    def has_module(self) -> bool:
        """Whether there is an `nn.Module` behind it; False for a model that came as ONNX."""
        return self._source.has_module

    @property
    def notices(self) -> tuple[str, ...]:
        """What was changed of it to make it trainable, a sentence each."""
        return self._source.notices

    @property
    def code(self) -> UserCode:
        """The code of the user's that a process must be let run to build what `save` wrote."""
        return self._source.code

    @property
    def buildable(self) -> bool:
        """False for a model read back from a record that only code of the user's can build."""
        return self._source.buildable

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of all parameters, those that its author froze included."""
        return tuple(self._parameter_specs)

    @cached_property
    def _parameter_specs(self) -> dict[str, ParameterSpec]:
        return self._source.parameters()

    @property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the trainable parameters by name; what its author froze is left out."""
        return {name: spec.shape for name, spec in self._parameter_specs.items() if spec.trainable}

    @property
    def parameter_count(self) -> int:
        """Numbers in all parameters, frozen ones included."""
        return sum(spec.element_count for spec in self._parameter_specs.values())

    @property
    def parameter_bytes(self) -> int:
        """Size of all parameters in bytes, frozen ones included."""
        return sum(spec.byte_count for spec in self._parameter_specs.values())

    def layers(self) -> list[Layer]:
        """The layers in order: for a module its leaves, for ONNX its nodes."""
        return self._source.layers()

    def module(self, *, shared: bool = False) -> torch.nn.Module:
        """A fresh `nn.Module` in training mode with the initial weights, on the CPU.

        Args:
            shared: its parameters may be those that the model keeps, which saves their memory:
                for a caller that only reads them.

        Raises:
            ModelError: the model came as ONNX alone, or cannot be built.
        """
        module = self._source.module(shared=shared and not self._initial)
        if self._initial:
            import torch

            state = {name: torch.from_numpy(value.copy()) for name, value in self._initial.items()}
            # A file need not hold buffers; `with_weights` has checked that all parameters are in.
            module.load_state_dict(state, strict=False)
        return module

    def example_inputs(self) -> tuple[np.ndarray, ...]:
        """Inputs that the model accepts, one array an input, a batch of at least 2."""
        return self._source.example_inputs()

    def weights(self) -> dict[str, np.ndarray]:
        """Copies of the initial parameters and persistent buffers by name."""
        return {**self._source.weights(), **{n: v.copy() for n, v in self._initial.items()}}

    def with_weights(self, weights: Mapping[str, np.ndarray], origin: str) -> Model:
        """The same model with other initial weights.

        Args:
            weights: every parameter by name, and any of the buffers.
            origin: where they come from, for messages.

        Raises:
            ModelError: a name is missing or unknown, or a shape differs.
        """
        missing = [name for name in self._parameter_specs if name not in weights]
        if missing:
            raise ModelError(
                f"{origin} lacks {len(missing)} parameters of model {self.name!r}, for instance "
                f"{missing[0]!r}; it holds {', '.join(list(weights)[:3])}, ... Give weights of "
                "this very model."
            )
        self._refuse_unknown(weights)
        return Model(
            self._source,
            name=self.name,
            card=self.card,
            defaults=self.defaults,
            dataset=self.dataset,
            initial=weights,
        )

    def export(self, path: Path | str, weights: Mapping[str, np.ndarray] | None = None) -> Path:
        """Write an ONNX model for inference with a dynamic batch axis.

        Args:
            path: of the .onnx file.
            weights: by name, in place of the initial ones.

        Raises:
            ModelError: it cannot be exported, or a weight has another shape or name.
        """
        self._refuse_unknown(weights or {})
        return self._source.export(Path(path), {**self._initial, **(weights or {})})

    def graph(self) -> onnx.ModelProto:
        """The graph of a model that came as ONNX, with the initial weights.

        Tensors of a model over 2 GB may lie in a file outside, by its absolute path.

        Raises:
            ModelError: there is a module behind it; `workbench.artifacts` exports that.
        """
        from workbench.models.inference_model import with_weights

        return with_weights(self._source.graph(), self._initial)

    def _refuse_unknown(self, weights: Mapping[str, np.ndarray]) -> None:
        own = self.weights() if weights else {}
        for name, value in weights.items():
            if name not in own or own[name].shape != np.shape(value):
                expected = f"{list(own[name].shape)}" if name in own else "no such name"
                raise ModelError(
                    f"Weight {name!r} of shape {list(np.shape(value))} does not fit model "
                    f"{self.name!r}: {expected}."
                )

    def save(self, folder: Path) -> None:
        """Write the model into a new folder for `load_saved`, whole or not at all.

        Raises:
            ModelError: `folder` holds something already, or the module cannot be pickled.
        """
        folder = Path(folder)
        if folder.exists() and any(folder.iterdir()):
            raise ModelError(f"{folder} is not empty; save the model into a new folder.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(beside=folder) as temporary:
            record = {
                "format": FORMAT_VERSION,
                "kind": self._source.kind,
                "name": self.name,
                "card": self.card,
                "defaults": self.defaults,
                "dataset": self.dataset,
                "source": self._source.write(temporary),
            }
            if self._initial:
                from safetensors.numpy import save_file

                save_file(self._initial, temporary / WEIGHTS_FILE)
            (temporary / "model.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
            os.replace(temporary, folder)
