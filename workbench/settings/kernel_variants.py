"""The ways in which an engine can run a graph, of which `workbench tune` finds the fastest.

Each is a graph as a whole: what a kernel takes alone says little of a step, in which the thread
pools of two libraries wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from workbench.settings.engines import engine_info
from workbench.settings.ortmodule_options import PyTorchKernels

DEFAULT = "default"
"""The variant of every engine that changes nothing."""


NO_LINEAR = "no_linear"
"""The variant of `ortmodule` for processors on which ONNX Runtime's products are faster."""


class TunedKernels(BaseModel):
    """What tuning changed in the settings of a run, for its record. Frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    variant: str | None
    """Of `VARIANTS`; None: nothing was changed."""
    refined: bool = False
    """Whether families of operators are by other libraries too."""
    reason: str
    """What was measured, and where that is from; or why nothing was changed. A short text."""

    def __str__(self) -> str:
        return self.reason


class Variant(NamedTuple):
    """A way to run a graph; where a field is None, what the settings say."""

    description: str
    pytorch_kernels: PyTorchKernels | None = None
    device_kernels: bool | None = None
    one_thread: bool | None = None
    """False: as many as the run has."""
    needs_extension: bool = False
    """Whether it is the same as another without the compiled extension of the engine."""

    def settings(self, engine: str, threads: int) -> dict[str, Any]:
        """The fields of `TrainingConfig` that it changes, those of `ortmodule` nested."""
        count = None if self.one_thread is None else 1 if self.one_thread else threads
        if engine == "ortmodule":
            inner = {"pytorch_kernels": self.pytorch_kernels, "threads": count}
            changed = {name: value for name, value in inner.items() if value is not None}
            return {"ortmodule": changed} if changed else {}
        outer = {"device_kernels": self.device_kernels, "threads": count}
        return {name: value for name, value in outer.items() if value is not None}


VARIANTS: Mapping[str, Mapping[str, Variant]] = MappingProxyType(
    {
        "ortmodule": {
            DEFAULT: Variant("linear layers by the library that was measured faster (default)"),
            "all": Variant("PyTorch's kernels by the built-in table", "all", needs_extension=True),
            NO_LINEAR: Variant(
                "linear layers and attention by ONNX Runtime, the rest by PyTorch",
                "no_linear",
                needs_extension=True,
            ),
            "onnxruntime": Variant("all by ONNX Runtime", "off", one_thread=False),
            "onnxruntime_1": Variant("all by ONNX Runtime, on one thread", "off", one_thread=True),
        },
        "ondevice": {
            DEFAULT: Variant("the workbench's own kernels (default)"),
            "default_1": Variant("the workbench's own kernels, on one thread", one_thread=True),
            "onnxruntime": Variant(
                "ONNX Runtime's kernels and standard operators",
                device_kernels=False,
                needs_extension=True,
            ),
            "onnxruntime_1": Variant(
                "ONNX Runtime's kernels and standard operators, on one thread",
                device_kernels=False,
                one_thread=True,
                needs_extension=True,
            ),
        },
    }
)
"""Engine -> name -> variant. Names are kept in files; the default comes first."""


def variants_of(engine: str, threads: int, extensions: frozenset[str]) -> dict[str, Variant]:
    """The variants that differ from each other here.

    Args:
        engine: a key of `VARIANTS`.
        threads: of the run.
        extensions: the compiled extensions that can be used.
    """
    extended = engine_info(engine).extension in extensions
    return {
        name: variant
        for name, variant in VARIANTS[engine].items()
        if (extended or not variant.needs_extension) and not (variant.one_thread and threads == 1)
    }
