"""The public `Model`: its specs, weights and layers; building, saving and exporting it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.errors import ModelError
from workbench.files.temporary_folder import temporary_folder
from workbench.lora.graph import graph_linear_weights
from workbench.lora.linear_weight import LinearWeight
from workbench.models.sources.source import Source
from workbench.onnx_io.onnx_path import onnx_path
from workbench.specs import Layer, ParameterSpec, TensorSpec
from workbench.user_code.user_code import UserCode

if TYPE_CHECKING:
    import onnx
    import torch

FORMAT_VERSION = 1
"""Version of the saved layout, written to model.json. Newer versions are rejected."""

WEIGHTS_FILE = "weights.safetensors"


class Model:
    """A model to inspect, train and export, returned by `load_model` and `load_saved`.

    Attributes:
        name: display name.
        card: a description of one paragraph; may be empty.
        defaults: default settings of `TrainingConfig` for this model.
        dataset: name of its default sample dataset, or None.
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
        # Contiguous, as safetensors writes the raw memory of an array.
        self._initial = {n: np.array(v, order="C") for n, v in (initial or {}).items()}

    def __repr__(self) -> str:
        inputs = ", ".join(f"{spec.name} {list(spec.shape)}" for spec in self.inputs)
        return f"Model({self.name!r}, {self._source.kind}, inputs: {inputs})"

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Specs of the inputs, in order."""
        return self._source.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Specs of the outputs; a single loss uses the first."""
        return self._source.outputs

    @property
    def file(self) -> Path | None:
        """The ONNX file that it was loaded from; None for another model, or a saved copy of one."""
        return self._source.file

    @property
    def has_module(self) -> bool:
        """Whether it has an `nn.Module`; False for a model loaded from an ONNX file."""
        return self._source.has_module

    @property
    def notices(self) -> tuple[str, ...]:
        """Messages about changes that were needed to make it trainable."""
        return self._source.notices

    @property
    def structure(self) -> str:
        """What tells a user's module from others of its name, but weights; else empty."""
        return self._source.structure

    @property
    def code(self) -> UserCode:
        """The user code that a process must be allowed to execute to build the saved model."""
        return self._source.code

    @property
    def buildable(self) -> bool:
        """False for a saved model that needs user code that this process may not execute."""
        return self._source.buildable

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of all parameters, frozen ones included."""
        return tuple(self._parameter_specs)

    @cached_property
    def _parameter_specs(self) -> dict[str, ParameterSpec]:
        return self._source.parameters()

    @property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the trainable parameters by name, without frozen ones."""
        return {name: spec.shape for name, spec in self._parameter_specs.items() if spec.trainable}

    @property
    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of all parameters by name, frozen ones included."""
        return {name: spec.shape for name, spec in self._parameter_specs.items()}

    @cached_property
    def linear_weights(self) -> dict[str, LinearWeight]:
        """The weights that LoRA can adapt, by name."""
        if self.has_module:
            from workbench.lora.module import module_linear_weights

            return module_linear_weights(self.module(shared=True))
        return graph_linear_weights(self.graph())

    @property
    def parameter_count(self) -> int:
        """Number of elements of all parameters, frozen ones included."""
        return sum(spec.element_count for spec in self._parameter_specs.values())

    @property
    def parameter_bytes(self) -> int:
        """Size of all parameters in bytes, frozen ones included."""
        return sum(spec.byte_count for spec in self._parameter_specs.values())

    def layers(self) -> list[Layer]:
        """The layers in order: the leaves of a module, or the nodes of an ONNX graph."""
        return self._source.layers()

    def module(self, *, shared: bool = False) -> torch.nn.Module:
        """A new `nn.Module` in training mode with the initial weights, on the CPU.

        Args:
            shared: its parameters may share memory with this model's; the caller must not change
                them.

        Raises:
            ModelError: the model was loaded from an ONNX file, or cannot be built.
        """
        module = self._source.module(shared=shared and not self._initial)
        if self._initial:
            import torch

            state = {name: torch.from_numpy(value.copy()) for name, value in self._initial.items()}
            # Buffers may be missing in a file.
            self._refuse_missing(dict(module.named_parameters()), state, WEIGHTS_FILE)
            try:
                missing = module.load_state_dict(state, strict=False)
            except RuntimeError as error:
                raise ModelError(f"{WEIGHTS_FILE} does not fit {self.name!r}: {error}") from None
            if missing.unexpected_keys:
                raise ModelError(
                    f"{WEIGHTS_FILE} of model {self.name!r} has {missing.unexpected_keys[0]!r}, "
                    "which the model does not have. Load the model again."
                )
        return module

    def example_inputs(self) -> tuple[np.ndarray, ...]:
        """Valid inputs, one array per input, with a batch size of at least 2."""
        return self._source.example_inputs()

    def weights(self) -> dict[str, np.ndarray]:
        """Copies of the initial parameters and persistent buffers by name."""
        return {**self._source.weights(), **{n: v.copy() for n, v in self._initial.items()}}

    def with_weights(self, weights: Mapping[str, np.ndarray], origin: str) -> Model:
        """The same model with other initial weights.

        Args:
            weights: all parameters by name, and optionally buffers.
            origin: their source, for messages.

        Raises:
            ModelError: a name is missing or unknown, a shape or dtype differs, or a parameter is
                not finite.
        """
        self._refuse_missing(self._parameter_specs, weights, origin)
        self._refuse_unknown(weights)
        for name in self._parameter_specs:
            if not np.isfinite(weights[name]).all():
                raise ModelError(
                    f"{origin} contains NaN or infinity in parameter {name!r}. Use weights of a "
                    "successful run."
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
            path: the .onnx file to write.
            weights: weights by name, instead of the initial ones.
            complete: raise an error if `weights` is incomplete; otherwise missing weights keep
                their initial values.

        Raises:
            ModelError: it cannot be exported or written, or a weight has a wrong shape, name or
                dtype.
        """
        place = onnx_path(path)  # checked first, as the export takes seconds
        self._refuse_unknown(weights or {})
        if complete:
            self._refuse_missing(self.weights(), weights or {}, "The checkpoint")
        return self._source.export(place, {**self._initial, **(weights or {})})

    def graph(self) -> onnx.ModelProto:
        """The graph of a model loaded from an ONNX file, with the initial weights.

        Tensors of a model over 2 GB may be external data, with an absolute path.

        Raises:
            ModelError: the model has a module; `workbench.artifacts` exports it.
        """
        from workbench.onnx_io.inference_model import with_weights

        return with_weights(self._source.graph(), self._initial)

    def _refuse_unknown(self, weights: Mapping[str, np.ndarray]) -> None:
        own = self.weights() if weights else {}
        for name, value in weights.items():
            if name not in own or own[name].shape != np.shape(value):
                expected = f"expected {list(own[name].shape)}" if name in own else "unknown name"
                raise ModelError(
                    f"Weight {name!r} of shape {list(np.shape(value))} does not fit model "
                    f"{self.name!r}: {expected}."
                )
            dtype = np.asarray(value).dtype
            if not np.can_cast(dtype, own[name].dtype, "same_kind"):
                raise ModelError(
                    f"Weight {name!r} of dtype {dtype} does not fit model {self.name!r}: "
                    f"expected {own[name].dtype}."
                )

    def _refuse_missing(
        self, wanted: Iterable[str], weights: Mapping[str, Any], origin: str
    ) -> None:
        missing = [name for name in wanted if name not in weights]
        if missing:
            some = ", ".join(list(weights)[:3]) or "none"
            raise ModelError(
                f"{origin} lacks {len(missing)} parameters of model {self.name!r}, for example "
                f"{missing[0]!r}; it contains {some}, ... Use weights of this model."
            )

    def save(self, folder: Path) -> None:
        """Write the model into a new folder for `load_saved`, atomically.

        Raises:
            ModelError: `folder` is not empty, or the module cannot be pickled.
        """
        folder = Path(folder)
        if folder.exists() and any(folder.iterdir()):
            raise ModelError(f"{folder} is not empty; save the model into a new folder.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(target=folder) as temporary:
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
