"""The layers of an `nn.Module`: its leaves, and other submodules with parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.modules.forward_pass import trace_shapes
from workbench.modules.multiply_adds import multiply_adds, noted_key_lengths
from workbench.specs import Layer

if TYPE_CHECKING:
    import torch

ROOT = "(root)"
"""Display name of the module itself, whose name is empty, if it has parameters."""


def module_layers(module: torch.nn.Module, inputs: Sequence[np.ndarray]) -> list[Layer]:
    """Layers in order of execution; layers with parameters that never run come last.

    A module that is called several times is listed once, with its first output shape. A shared
    parameter is counted once, in the first layer.
    """
    modules = {
        name: child
        for name, child in module.named_modules()
        if not list(child.children()) or list(child.parameters(recurse=False))
    }
    with noted_key_lengths(modules) as keys:
        shapes = trace_shapes(module, inputs, list(modules)).layers
    counted: set[int] = set()
    layers = []
    for name in [*shapes, *(name for name in modules if name not in shapes)]:
        own = list(modules[name].parameters(recurse=False))
        new = [value for value in own if id(value) not in counted]
        counted.update(id(value) for value in own)
        if name in shapes or own:
            count = sum(value.numel() for value in new)
            size = sum(value.numel() * value.element_size() for value in new)
            kind = type(modules[name]).__name__
            shape = shapes.get(name)
            products = multiply_adds(modules[name], shape, keys.get(name))
            layers.append(Layer(name or ROOT, kind, shape, count, size, products))
    return layers
