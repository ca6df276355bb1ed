"""Variants of an engine's kernels, of which `workbench tune` finds the fastest.

Each applies to a whole graph: the time of a single kernel says little about a step, in which the
thread pools of two libraries wait for each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from workbench.settings.engines import GraphKind, engine_table
from workbench.settings.ortmodule_options import PyTorchKernels

DEFAULT = "default"
"""The variant of every engine that changes nothing."""


NO_LINEAR, WORKBENCH = "no_linear", "workbench"
"""The variants of `ortmodule` for processors on which ONNX Runtime's products are faster, without
the workbench's own kernels and with them."""

LARGE_CONVOLUTION = 32_768
"""Number of weights of a convolution from which PyTorch's kernel counts as faster than the
workbench's and ONNX Runtime's. Measured: a ResNet, with 36,864 weights and more in most, takes 1.25
times as long without PyTorch's; the samples, with 13,824 at most, 0.53 to 0.85 of the time."""

MOST_LARGE_CONVOLUTIONS = 1
"""Most of them in a model that runs without PyTorch's kernels by default: one cuts pictures into
patches."""


def suits_own_kernels(convolutions: Iterable[Sequence[int]]) -> bool:
    """Whether a model runs without PyTorch's kernels by default.

    Args:
        convolutions: shape of the weights of each of its convolutions.
    """
    large = sum(math.prod(shape) >= LARGE_CONVOLUTION for shape in convolutions)
    return large <= MOST_LARGE_CONVOLUTIONS


class TunedKernels(BaseModel):
    """Changes of a run's settings by tuning, for its record. Frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    variant: str | None
    """A name of `VARIANTS`; None: nothing was changed."""
    refined: bool = False
    """Whether families of operators were assigned to other libraries too."""
    reason: str
    """The measurement and its source, or why nothing was changed, as a short text."""

    def __str__(self) -> str:
        return self.reason


class Variant(NamedTuple):
    """A variant; a field that is None is left to the settings."""

    description: str
    pytorch_kernels: PyTorchKernels | None = None
    device_kernels: bool | None = None
    one_thread: bool | None = None
    """False: the threads of the run."""
    extension: str | None = None
    """The compiled extension that it needs to differ from another variant."""

    def settings(self, graphs: GraphKind, threads: int) -> dict[str, Any]:
        """The fields of `TrainingConfig` that it changes; options of `ortmodule` are nested."""
        count = None if self.one_thread is None else 1 if self.one_thread else threads
        if graphs == GraphKind.ORTMODULE:
            inner = {
                "pytorch_kernels": self.pytorch_kernels,
                "device_kernels": self.device_kernels,
                "threads": count,
            }
            changed = {name: value for name, value in inner.items() if value is not None}
            return {"ortmodule": changed} if changed else {}
        outer = {"device_kernels": self.device_kernels, "threads": count}
        return {name: value for name, value in outer.items() if value is not None}


_TORCH_INTEROP, _DEVICE_KERNELS = "torch_interop", "device_kernels"

VARIANTS: Mapping[GraphKind, Mapping[str, Variant]] = MappingProxyType(
    {
        GraphKind.ORTMODULE: {
            DEFAULT: Variant("linear layers by the library that was measured faster (default)"),
            "all": Variant(
                "PyTorch's kernels by the built-in table", "all", extension=_TORCH_INTEROP
            ),
            NO_LINEAR: Variant(
                "linear layers and attention not by PyTorch, the rest by PyTorch",
                "no_linear",
                extension=_TORCH_INTEROP,
            ),
            WORKBENCH: Variant(
                "the workbench's own kernels and ONNX Runtime's, but for Dropout",
                "dropout",
                True,
                extension=_DEVICE_KERNELS,
            ),
            "onnxruntime": Variant("all by ONNX Runtime", "off", False, one_thread=False),
            "onnxruntime_1": Variant(
                "all by ONNX Runtime, on one thread", "off", False, one_thread=True
            ),
        },
        GraphKind.DEVICE: {
            DEFAULT: Variant("the workbench's own kernels (default)"),
            "default_1": Variant("the workbench's own kernels, on one thread", one_thread=True),
            "onnxruntime": Variant(
                "ONNX Runtime's kernels and standard operators",
                device_kernels=False,
                extension=_DEVICE_KERNELS,
            ),
            "onnxruntime_1": Variant(
                "ONNX Runtime's kernels and standard operators, on one thread",
                device_kernels=False,
                one_thread=True,
                extension=_DEVICE_KERNELS,
            ),
        },
    }
)
"""Graphs -> name -> variant. Names are stored in files; the default comes first."""


def tunable_engines() -> tuple[str, ...]:
    """Names of the engines that have variants."""
    return tuple(info.name for info in engine_table().values() if info.graphs is not None)


def variants_of(engine: str) -> Mapping[str, Variant]:
    """The variants of an engine; none for an unknown one, or one without choices of kernels."""
    info = engine_table().get(engine)
    return {} if info is None or info.graphs is None else VARIANTS[info.graphs]


def different_variants(engine: str, threads: int, extensions: frozenset[str]) -> dict[str, Variant]:
    """The variants that differ from each other here.

    Args:
        engine: its name.
        threads: of the run.
        extensions: the compiled extensions that can be used.
    """
    return {
        name: variant
        for name, variant in variants_of(engine).items()
        if (variant.extension is None or variant.extension in extensions)
        and not (variant.one_thread and threads == 1)
    }
