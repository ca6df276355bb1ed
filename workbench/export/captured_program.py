"""Digests of the programs that torch.export captures, which two modes can be compared by.

Everything that an exporter does after the capture depends on the program alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch
    from torch import fx

_Description = tuple[Any, ...]

_PROBABILITY = "dropout_p"
"""Name of attention's argument."""


class NoDescriptionError(Exception):
    """The program holds what cannot be compared."""


def program_digest(program: torch.export.ExportedProgram, *, dropout: bool) -> str:
    """A digest of all that determines the graph of `program`.

    Args:
        program: as captured, before any decomposition.
        dropout: whether dropout may be active. The digest is the same either way: a program with
            active dropout has that of the program in which it is inactive.

    Raises:
        NoDescriptionError: it holds subgraphs or other objects that cannot be compared, or draws
            random numbers by a Dropout that is not a call of PyTorch's, or has active dropout
            although `dropout` is False.
    """
    numbers = {node: index for index, node in enumerate(program.graph.nodes)}
    description = (
        tuple(_described_node(node, numbers, dropout) for node in program.graph.nodes),
        str(program.graph_signature),
        str(sorted(program.range_constraints.items(), key=str)),
        tuple((name, _digest(value)) for name, value in sorted(program.constants.items())),
    )
    return hashlib.sha256(repr(description).encode()).hexdigest()


def _described_node(node: fx.Node, numbers: Mapping[fx.Node, int], dropout: bool) -> _Description:
    if node.op == "get_attr":
        raise NoDescriptionError(f"{node.name} is a subgraph or a tensor of its own.")
    arguments, keywords = _without_dropout(node, dropout)
    given = (
        _plain(arguments, numbers),
        tuple((name, _plain(keywords[name], numbers)) for name in sorted(keywords)),
    )
    other_call = node.op == "call_function" and node.target not in _dropouts()
    if other_call and "dropout" in f"{node.target} {given}".lower():
        raise NoDescriptionError(f"{node.name} is another kind of dropout.")
    value = node.meta.get("val")
    return (
        node.op,
        node.name,
        str(node.target),
        given,
        str(getattr(value, "dtype", None)),
        tuple(path for path, _ in node.meta.get("nn_module_stack", {}).values()),
    )


def _without_dropout(node: fx.Node, dropout: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, those that activate dropout in their inactive form.

    Raises:
        NoDescriptionError: see `program_digest`.
    """
    arguments, keywords = list(node.args), dict(node.kwargs)
    dropout_call, attention = _dropouts()
    if node.target is dropout_call:
        if keywords or len(arguments) != 3:
            raise NoDescriptionError(f"{node.name} has unknown arguments.")
        active, arguments[2] = bool(arguments[2]), False
    elif node.target is attention:
        active = bool(keywords.pop(_PROBABILITY, 0.0))
        if len(arguments) > 4:
            active, arguments[4] = bool(arguments[4]), 0.0
            # torch leaves out the last arguments where they are the defaults.
            while len(arguments) > 3 and arguments[-1] in (None, 0.0):
                del arguments[-1]
    else:
        return node.args, keywords
    if active and not dropout:
        raise NoDescriptionError(f"{node.name} is active dropout.")
    return tuple(arguments), keywords


def _dropouts() -> tuple[Any, Any]:
    """The two calls whose dropout an argument activates."""
    import torch

    aten = torch.ops.aten
    return aten.dropout.default, aten.scaled_dot_product_attention.default


def _plain(value: Any, numbers: Mapping[fx.Node, int]) -> Any:
    """An argument with numbers in place of nodes.

    Raises:
        NoDescriptionError: it is an object of an unknown class.
    """
    import torch
    from torch import fx

    if isinstance(value, fx.Node):
        return "node", numbers[value]
    if isinstance(value, tuple | list):
        return "sequence", *(_plain(each, numbers) for each in value)
    if isinstance(value, slice):
        return "slice", *(_plain(each, numbers) for each in (value.start, value.stop, value.step))
    known = torch.dtype | torch.device | torch.layout | torch.memory_format
    if value is None or isinstance(value, bool | int | float | str | known):
        return type(value).__name__, repr(value)
    raise NoDescriptionError(f"An argument is a {type(value).__qualname__}.")


def _digest(value: Any) -> tuple[str, Sequence[int], str]:
    import torch

    if not isinstance(value, torch.Tensor):
        raise NoDescriptionError(f"A constant is a {type(value).__qualname__}.")
    flat = value.detach().cpu().contiguous().reshape(-1)
    content = flat.view(torch.uint8).numpy() if flat.numel() else np.empty(0, np.uint8)
    return str(value.dtype), tuple(value.shape), hashlib.sha256(content.data).hexdigest()
