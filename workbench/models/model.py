"""A model: what the workbench knows of it, and the ways to have it built, saved and exported."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import ModelError
from workbench.files.output_file import check_place
from workbench.files.temporary_folder import temporary_folder
from workbench.models.sources.source import Source
from workbench.specs import Layer, ParameterSpec, TensorSpec
from workbench.user_code.user_code import UserCode

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
            # A file need not hold buffers.
            self._refuse_missing(dict(module.named_parameters()), state, WEIGHTS_FILE)
            try:
                missing = module.load_state_dict(state, strict=False)
            except RuntimeError as error:
                raise ModelError(f"{WEIGHTS_FILE} does not fit {self.name!r}: {error}") from None
            if missing.unexpected_keys:
                raise ModelError(
                    f"{WEIGHTS_FILE} of model {self.name!r} holds {missing.unexpected_keys[0]!r}, "
                    "which the model has not. Load the model again."
                )
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
            ModelError: a name is missing or unknown, a shape or dtype differs, or a parameter is
                not finite.
        """
        self._refuse_missing(self._parameter_specs, weights, origin)
        self._refuse_unknown(weights)
        for name in self._parameter_specs:
            if not np.isfinite(weights[name]).all():
                raise ModelError(
                    f"{origin} holds NaN or infinity in parameter {name!r}; training would spread "
                    "it. Give weights of a run that went well."
                )
        return Model(
            self._source,
            name=self.name,
            card=self.card,
            defaults=self.defaults,
            dataset=self.dataset,
            initial=weights,
        )

    def export(
        self,
        path: Path | str,
        weights: Mapping[str, np.ndarray] | None = None,
        *,
        complete: bool = False,
    ) -> Path:
        """Write an ONNX model for inference with a dynamic batch axis.

        Args:
            path: of the .onnx file.
            weights: by name, in place of the initial ones.
            complete: refuse weights that leave any of the model's out, as those of a checkpoint
                must not; without it, what is left out has its initial value.

        Raises:
            ModelError: it cannot be exported or written, or a weight has another shape, name or
                dtype.
        """
        place = Path(path)
        # To export takes seconds; a place that cannot be written is told at once.
        check_place(place, ModelError)
        self._refuse_unknown(weights or {})
        if complete:
            self._refuse_missing(self.weights(), weights or {}, "The checkpoint")
        return self._source.export(place, {**self._initial, **(weights or {})})

    def graph(self) -> onnx.ModelProto:
        """The graph of a model that came as ONNX, with the initial weights.

        Tensors of a model over 2 GB may lie in a file outside, by its absolute path.

        Raises:
            ModelError: there is a module behind it; `workbench.artifacts` exports that.
        """
        from workbench.onnx_io.inference_model import with_weights

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
            dtype = np.asarray(value).dtype
            if not np.can_cast(dtype, own[name].dtype, "same_kind"):
                raise ModelError(
                    f"Weight {name!r} of dtype {dtype} does not fit model {self.name!r}: "
                    f"{own[name].dtype}."
                )

    def _refuse_missing(
        self, wanted: Iterable[str], weights: Mapping[str, Any], origin: str
    ) -> None:
        missing = [name for name in wanted if name not in weights]
        if missing:
            some = ", ".join(list(weights)[:3]) or "none"
            raise ModelError(
                f"{origin} lacks {len(missing)} parameters of model {self.name!r}, for instance "
                f"{missing[0]!r}; it holds {some}, ... Give weights of this very model."
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
