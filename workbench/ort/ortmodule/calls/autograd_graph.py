"""Finds the tensors that autograd reaches from a result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.export.effects.state_snapshot import SnapshotTensor
from workbench.modules.flattened_outputs import flattened_outputs


def reached(result: Any, tensors: Sequence[SnapshotTensor]) -> list[str]:
    """The names of those of `tensors` that a backward pass of `result` would pass a gradient to.

    Args:
        result: of a forward pass, in any nesting.
        tensors: computed before it; the tensors that they depend on are not visited.
    """
    names = {each.tensor.grad_fn: each.name for each in tensors}
    found: dict[str, None] = {}
    rest = [output.tensor.grad_fn for output in flattened_outputs(result)]
    seen: set[Any] = set()
    while rest:
        node = rest.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node in names:
            found[names[node]] = None
        else:
            rest += [following for following, _ in node.next_functions]
    return list(found)
