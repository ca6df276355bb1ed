"""Assignment of families of operators to libraries, where an engine has several kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from workbench.errors import nearest
from workbench.settings.engines import GraphKind

PYTORCH, WORKBENCH, ONNX_RUNTIME, STANDARD = "pytorch", "workbench", "onnxruntime", "standard"

LIBRARIES: Mapping[str, str] = MappingProxyType(
    {
        PYTORCH: "PyTorch",
        WORKBENCH: "the workbench",
        ONNX_RUNTIME: "ONNX Runtime",
        STANDARD: "standard operators",
    }
)
"""Name in settings -> in sentences. "standard" writes a gradient in standard operators."""

FAMILIES: Mapping[GraphKind, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        GraphKind.ORTMODULE: {
            "linear": (PYTORCH, ONNX_RUNTIME),
            "attention": (PYTORCH, WORKBENCH, ONNX_RUNTIME),
            "convolution": (PYTORCH, WORKBENCH, ONNX_RUNTIME),
            "max_pool": (WORKBENCH, ONNX_RUNTIME),
            "relu": (PYTORCH, WORKBENCH, STANDARD, ONNX_RUNTIME),
            "gelu": (PYTORCH, WORKBENCH, STANDARD, ONNX_RUNTIME),
            "silu": (WORKBENCH, ONNX_RUNTIME),
            "softmax": (PYTORCH, WORKBENCH, ONNX_RUNTIME),
            "cross_entropy": (WORKBENCH, ONNX_RUNTIME),
            "layer_norm": (PYTORCH, WORKBENCH, ONNX_RUNTIME),
            "addition": (PYTORCH, ONNX_RUNTIME),
            "sum": (WORKBENCH, ONNX_RUNTIME),
            "embedding": (WORKBENCH, STANDARD),
        },
        GraphKind.DEVICE: {
            "attention": (WORKBENCH, ONNX_RUNTIME),
            "convolution": (WORKBENCH, ONNX_RUNTIME),
            "max_pool": (WORKBENCH, ONNX_RUNTIME),
            "relu": (WORKBENCH, STANDARD, ONNX_RUNTIME),
            "gelu": (WORKBENCH, STANDARD, ONNX_RUNTIME),
            "silu": (WORKBENCH, ONNX_RUNTIME),
            "softmax": (WORKBENCH, ONNX_RUNTIME),
            "cross_entropy": (WORKBENCH, ONNX_RUNTIME),
            "layer_norm": (WORKBENCH, ONNX_RUNTIME),
            "sum": (WORKBENCH, ONNX_RUNTIME),
            "embedding": (WORKBENCH, STANDARD),
        },
    }
)
"""Graphs -> family -> the libraries that can compute it, the default first.

Without dropout, whose random numbers differ between libraries, and without ONNX Runtime's gradient
of an embedding, whose sums differ from run to run."""


def split_choices(value: Any) -> Any:
    """Split a comma-separated text of choices."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def check_choices(graphs: GraphKind, choices: tuple[str, ...]) -> tuple[str, ...]:
    """Validate texts such as "gelu=standard"; returned in the order of the families.

    Raises:
        ValueError: an unknown family or library, or a family twice.
    """
    families = FAMILIES[graphs]
    chosen: dict[str, str] = {}
    for choice in choices:
        family, _, library = choice.partition("=")
        if family not in families:
            raise ValueError(
                f"operator_kernels={choice!r}: give family=library, such as 'gelu=standard'. "
                f"{nearest(family, families)}"
            )
        if library not in families[family]:
            raise ValueError(
                f"operator_kernels={choice!r}: {family} can be computed by "
                f"{' or '.join(families[family])}."
            )
        if family in chosen:
            raise ValueError(f"operator_kernels names {family!r} twice: give it once.")
        chosen[family] = library
    return as_choices({family: chosen[family] for family in families if family in chosen})


_Split = BeforeValidator(split_choices)

DeviceChoices = Annotated[
    tuple[str, ...],
    _Split,
    AfterValidator(partial(check_choices, GraphKind.DEVICE)),
    Field(description="engine ondevice: operators by another library, such as gelu=standard"),
]
ORTModuleChoices = Annotated[
    tuple[str, ...], _Split, AfterValidator(partial(check_choices, GraphKind.ORTMODULE))
]
"""The settings `operator_kernels`: texts such as "gelu=standard", or one with commas."""


def libraries_of(choices: Iterable[str]) -> dict[str, str]:
    """Family -> library, of texts such as "gelu=standard"."""
    return {family: library for family, _, library in (each.partition("=") for each in choices)}


def as_choices(libraries: Mapping[str, str]) -> tuple[str, ...]:
    """The texts that `libraries_of` reads."""
    return tuple(f"{family}={library}" for family, library in libraries.items())


IN_TORCH_INTEROP = frozenset({"max_pool", "embedding"})
"""Families with a kernel of the workbench on PyTorch's threads too, which is used if PyTorch's
kernels run other families."""

_LEFT_OUT: Mapping[str | bool, tuple[str, ...]] = {
    "no_linear": ("linear", "attention"),
    "no_products": ("linear", "attention", "convolution"),
}
"""Families not computed by PyTorch, by `pytorch_kernels`."""


def usual_libraries(
    graphs: GraphKind, kernels: str | bool, *, device_kernels: bool = True
) -> dict[str, str]:
    """Family -> library, by the settings of the kernels as a whole.

    Args:
        graphs: whose kernels.
        kernels: `device_kernels` of a run on device, or `pytorch_kernels`, of which "auto" counts
            as "all".
        device_kernels: that of ORTModule.
    """
    if graphs == GraphKind.DEVICE:
        if not kernels:
            return without_kernels(graphs)
        return {family: libraries[0] for family, libraries in FAMILIES[graphs].items()}
    own = without_kernels(graphs)
    if device_kernels:
        libraries = FAMILIES[graphs].items()
        own |= {family: WORKBENCH for family, known in libraries if WORKBENCH in known}
    if kernels in ("dropout", "off", False):
        return own
    usual = {family: libraries[0] for family, libraries in FAMILIES[graphs].items()}
    left_out = set(_LEFT_OUT.get(kernels, ()))
    if not device_kernels:
        left_out |= {family for family, library in usual.items() if library == WORKBENCH}
    return usual | {family: own[family] for family in left_out - IN_TORCH_INTEROP}


def without_kernels(graphs: GraphKind) -> dict[str, str]:
    """Family -> ONNX Runtime's library: in standard operators where its own gradient is slow."""
    return {
        family: STANDARD if STANDARD in libraries else ONNX_RUNTIME
        for family, libraries in FAMILIES[graphs].items()
    }


def of_device_graph(device_kernels: bool, choices: tuple[str, ...]) -> tuple[str, ...]:
    """All choices for an on-device graph, which otherwise has the workbench's kernels.

    Args:
        device_kernels: the setting, which applies to the other families.
        choices: `operator_kernels` of a run on device.
    """
    if device_kernels or not choices:
        return choices
    return as_choices(without_kernels(GraphKind.DEVICE) | libraries_of(choices))


def sentence_of(libraries: Mapping[str, str]) -> str:
    """In words, such as "gelu by standard operators, linear by ONNX Runtime"."""
    return ", ".join(
        f"{family.replace('_', ' ')} by {LIBRARIES[library]}"
        for family, library in libraries.items()
    )
