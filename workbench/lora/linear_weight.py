"""The weights of linear layers, and which of them LoRA adapts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from workbench.errors import ConfigError, nearest
from workbench.settings.lora import LoraOptions

SUPPORTED = (
    "LoRA adapts the weights of linear layers: nn.Linear, convolutions with a kernel of one "
    "element and without groups, the projections of nn.MultiheadAttention and transformers' "
    "Conv1D, and of an ONNX file MatMul, Gemm and such Conv"
)


class LinearWeight(NamedTuple):
    """A weight that multiplies inputs, from the right."""

    name: str
    in_features: int
    out_features: int
    inputs_first: bool = False
    """Whether its shape is (inputs, outputs), as MatMul has it, and not (outputs, inputs)."""
    kernel: tuple[int, ...] = ()
    """Further axes of the shape of a convolution's weight, each of one element."""
    aliases: tuple[str, ...] = ()
    """Further names of the same tensor, in layers that share it."""

    @classmethod
    def of_shape(
        cls,
        name: str,
        shape: tuple[int, ...],
        *,
        inputs_first: bool = False,
        aliases: tuple[str, ...] = (),
    ) -> LinearWeight:
        """A weight of the shape (outputs, inputs, *kernel), or (inputs, outputs)."""
        outputs, inputs = reversed(shape) if inputs_first else shape[:2]
        return cls(name, inputs, outputs, inputs_first, tuple(shape[2:]), aliases)

    @property
    def largest_rank(self) -> int:
        """Largest rank of a matrix of this shape."""
        return min(self.in_features, self.out_features)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the weight."""
        sizes = (self.out_features, self.in_features)
        return (*(reversed(sizes) if self.inputs_first else sizes), *self.kernel)

    @property
    def adapter_names(self) -> tuple[str, str]:
        """Names of A and B: as in PEFT's files, without its prefix `base_model.model.`.

        `fc.weight` has `fc.lora_A.weight` and `fc.lora_B.weight`, and `attention.in_proj_weight`
        has `attention.in_proj.lora_A.weight`.
        """
        layer, dot, attribute = self.name.rpartition(".")
        part = "" if attribute == "weight" else attribute.removesuffix("_weight")
        stem = f"{layer}{dot}{part}".removesuffix(".")
        prefix = f"{stem}." if stem else ""
        return f"{prefix}lora_A.weight", f"{prefix}lora_B.weight"

    def adapter_shapes(self, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of A, (rank, inputs, *kernel), and of B, (outputs, rank, *kernel)."""
        return (rank, self.in_features, *self.kernel), (self.out_features, rank, *self.kernel)


def targeted_weights(
    linear: Mapping[str, LinearWeight], shapes: Mapping[str, tuple[int, ...]], options: LoraOptions
) -> list[LinearWeight]:
    """The weights of linear layers that match a target; other parameters that match are not
    adapted.

    Args:
        linear: the weights of linear layers by name.
        shapes: of all parameters by name.
        options: targets and rank.

    Raises:
        ConfigError: a pattern matches no weight of a linear layer; the rank exceeds a dimension; or
            the name of an adapter is taken.
    """
    problems = []
    for pattern in options.targets:
        matched = _matching(shapes, (pattern,))
        if not any(name in linear for name in matched):
            problems.append(_no_linear_weight(pattern, matched, shapes))
    chosen = [linear[name] for name in _matching(shapes, options.targets) if name in linear]
    problems += _rank_problems(chosen, shapes, options)
    adapters = Counter(name for weight in chosen for name in weight.adapter_names)
    problems += [
        f"lora.targets: the name {name!r} of an adapter is taken by a parameter of the model, or "
        "by another adapter. Name other targets."
        for name, count in adapters.items()
        if count > 1 or name in shapes
    ]
    if problems:
        raise ConfigError(problems)
    return chosen


def _rank_problems(
    weights: Iterable[LinearWeight], shapes: Mapping[str, tuple[int, ...]], options: LoraOptions
) -> list[str]:
    exceeded = [weight for weight in weights if options.rank > weight.largest_rank]
    if not exceeded:
        return []
    # All targets have the same rank.
    smallest = min(exceeded, key=lambda weight: weight.largest_rank)
    return [
        f"lora.rank={options.rank} is larger than a dimension of {smallest.name!r}, of shape "
        f"{list(shapes[smallest.name])}. Choose {smallest.largest_rank} or less, or targets "
        "without it."
    ]


def _no_linear_weight(
    pattern: str, matched: list[str], shapes: Mapping[str, tuple[int, ...]]
) -> str:
    if not matched:
        return f"lora.targets pattern {pattern!r} matches no parameter. {nearest(pattern, shapes)}"
    shown = ", ".join(f"{name!r} {list(shapes[name])}" for name in matched[:3])
    more = f" and {len(matched) - 3} more" if len(matched) > 3 else ""
    return (
        f"lora.targets pattern {pattern!r} matches {shown}{more}, of no linear layer. {SUPPORTED}. "
        "Weights that an embedding shares are not adapted."
    )


def _matching(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    known = tuple(patterns)
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in known)]
