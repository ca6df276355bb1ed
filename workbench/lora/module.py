"""LoRA in an `nn.Module`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.lora.adapter import initial_adapters
from workbench.lora.linear_weight import LinearWeight, targeted_weights
from workbench.settings.lora import LoraOptions

if TYPE_CHECKING:
    import torch
    from torch import nn

_PROJECTIONS = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
"""Weights of `nn.MultiheadAttention`: one packed, or three if keys or values differ in size."""

_CONV1D = ("transformers.pytorch_utils", "Conv1D")
"""Module and name of the class: importing transformers takes seconds."""

_CALLED = {
    ("torch.nn.modules.linear", "Linear"),
    *(("torch.nn.modules.conv", f"Conv{axes}d") for axes in (1, 2, 3)),
    _CONV1D,
}
"""Classes whose forward pass is a product with the weight, and the bias."""

_ADAPTERS = "_lora_adapters"
"""Attribute of a layer: its adapters by the names of weights."""


def module_linear_weights(module: nn.Module) -> dict[str, LinearWeight]:
    """The weights that belong to layers that LoRA adapts, and to no other layer, by name."""
    layouts: dict[int, set[bool | None]] = {}
    for child in module.modules():
        known = _layouts(child)
        for name, value in child.named_parameters(recurse=False):
            layouts.setdefault(id(value), set()).add(known.get(name))
    names: dict[int, list[str]] = {}
    for name, value in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(value), []).append(name)
    return {
        name: LinearWeight.of_shape(
            name,
            tuple(value.shape),
            inputs_first=layouts[id(value)] == {True},
            aliases=tuple(names[id(value)][1:]),
        )
        for name, value in module.named_parameters()
        if layouts[id(value)] in ({False}, {True})
    }


def add_lora(module: nn.Module, options: LoraOptions) -> list[str]:
    """Add adapters to the layers of `module` whose weights match, in place.

    A layer gets the submodules `lora_A` and `lora_B`, and a subclass of its own class in which the
    weight is the sum W + alpha / rank · B A when it is read, as by `nn.MultiheadAttention`.
    Where a layer is called, x goes through A and B instead, which is faster. The names of
    parameters stay.

    Returns:
        The names of the adapted weights.

    Raises:
        ConfigError: see `targeted_weights`.
    """
    shapes = {name: tuple(value.shape) for name, value in module.named_parameters()}
    chosen = targeted_weights(module_linear_weights(module), shapes, options)
    values = initial_adapters(chosen, options)
    for weight in chosen:
        a, b = (_as_layer(values[name]) for name in weight.adapter_names)
        for name, layer in zip(weight.adapter_names, (a, b), strict=True):
            _register(module, name.removesuffix(".weight"), layer)
        # Layers that share the weight share its adapter, which has one name, as in a graph.
        for name in (weight.name, *weight.aliases):
            owner, _, attribute = name.rpartition(".")
            _adapt(module.get_submodule(owner), attribute, Adapter(a, b, weight, options.scale))
    return [weight.name for weight in chosen]


class Adapter(NamedTuple):
    """A and B of one weight; held by its layer, and copied with it."""

    a: nn.Module
    b: nn.Module
    weight: LinearWeight
    scale: float

    def added_to(self, base: torch.Tensor) -> torch.Tensor:
        """W + alpha / rank · B A."""
        a, b = (layer.get_parameter("weight").flatten(1) for layer in (self.a, self.b))
        product = b @ a * self.scale
        return base + (product.T if self.weight.inputs_first else product.reshape(base.shape))

    def call(self, layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
        """x Wᵀ + alpha / rank · (x Aᵀ) Bᵀ, with the bias of the layer."""
        from torch.nn import functional

        base, bias = (layer._parameters[name] for name in ("weight", "bias"))
        a, b = (adapter.get_parameter("weight") for adapter in (self.a, self.b))
        assert base is not None
        made: torch.Tensor
        if not self.weight.kernel:
            used = base.T if self.weight.inputs_first else base
            hidden = functional.linear(x, a) * self.scale
            made = functional.linear(x, used, bias) + functional.linear(hidden, b)
            return made
        # With stride and padding, of which B has none.
        convolve: Any = layer._conv_forward
        last = getattr(functional, f"conv{len(self.weight.kernel)}d")
        made = convolve(x, base, bias) + last(convolve(x, a, None) * self.scale, b)
        return made


def _layouts(layer: nn.Module) -> Mapping[str, bool]:
    """The parameters of `layer` that LoRA adapts, and whether their shape is (inputs, outputs)."""
    from torch import nn

    if isinstance(layer, nn.Linear):
        return {"weight": False}
    if isinstance(layer, nn.MultiheadAttention):
        return dict.fromkeys(_PROJECTIONS, False)
    if isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d):
        pointwise = layer.groups == 1 and set(layer.kernel_size) == {1}
        return {"weight": False} if pointwise and not layer.transposed else {}
    return {"weight": True} if _CONV1D in _names(type(layer)) else {}


def _names(kind: type) -> list[tuple[str, str]]:
    return [(base.__module__, base.__name__) for base in kind.__mro__]


def _adapt(layer: nn.Module, attribute: str, adapter: Adapter) -> None:
    """Make `layer` an instance of a subclass that adds the adapter to its `attribute`."""
    adapters = layer.__dict__.setdefault(_ADAPTERS, {})
    adapters[attribute] = adapter
    kind = type(layer)

    def weight(layer: nn.Module) -> torch.Tensor:
        base = layer._parameters[attribute]
        assert base is not None
        added: torch.Tensor = vars(layer)[_ADAPTERS][attribute].added_to(base)
        return added

    def forward(layer: nn.Module, *inputs: torch.Tensor, **keywords: torch.Tensor) -> torch.Tensor:
        (x,) = (*inputs, *keywords.values())
        made: torch.Tensor = vars(layer)[_ADAPTERS][attribute].call(layer, x)
        return made

    body: dict[str, Any] = {"__module__": kind.__module__, attribute: property(weight)}
    # Another forward pass may use the weight in any way.
    defining_class = next(base for base in kind.__mro__ if "forward" in vars(base))
    if _names(defining_class)[0] in _CALLED:
        body["forward"] = forward
    layer.__class__ = type(kind.__name__, (kind,), body)


def _register(module: nn.Module, path: str, adapter: nn.Module) -> None:
    """Make `adapter` a submodule, below an empty one where the path has a step more."""
    from torch import nn

    *parents, name = path.split(".")
    for parent in parents:
        if parent not in module._modules:
            module.add_module(parent, nn.Module())
        module = module.get_submodule(parent)
    module.add_module(name, adapter)


def _as_layer(value: np.ndarray) -> nn.Module:
    """A module with nothing but a weight."""
    import torch
    from torch import nn

    layer = nn.Module()
    layer.register_parameter("weight", nn.Parameter(torch.from_numpy(value)))
    return layer
