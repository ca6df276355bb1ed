"""Which initializers of a graph may change from step to step, and so are no constants."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

_STATE = "state"


def mark_state(graph: ir.Graph, names: Iterable[str]) -> None:
    """Note that the initializers with these names are parameters or buffers."""
    for name in names:
        value = graph.initializers.get(name)
        if value is not None:
            value.meta[_STATE] = True


def is_state(value: ir.Value) -> bool:
    """Whether `mark_state` noted it; its `const_value` is what it is at first."""
    return bool(value.meta.get(_STATE))
