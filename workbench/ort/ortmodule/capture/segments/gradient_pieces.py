"""Chooses cuts of a forward graph, so that its gradients are computed in pieces.

DistributedDataParallel exchanges gradients in buckets, during the backward pass. With a graph that
returns all gradients at its end, the exchange cannot overlap.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from workbench.ort.ortmodule.capture.segments.graph_split import has_calls, read_by

if TYPE_CHECKING:
    import onnx

MOST_PIECES = 16
"""Largest number of pieces; each costs a few calls between Python and ONNX Runtime per step."""

_FLOATS = (1, 10, 11, 16)
"""ONNX's type numbers of floating-point types."""


class _Place(NamedTuple):
    """A possible cut, before a node."""

    node: int
    bytes_after: int
    """Bytes of the trained parameters that only later nodes read."""
    width: int
    """Number of values with a gradient that cross the cut."""


def piece_cuts(
    model: onnx.ModelProto, requires_grad: Collection[str], bucket_bytes: int
) -> tuple[int, ...]:
    """Places of the nodes before which `model` is cut, in order; empty if there is no gain.

    The backward pass runs from the last piece to the first, and each ends with the gradients of its
    parameters, at least a bucket of them. A cut lies before the first node of a layer with
    parameters, where few values cross, as between the blocks of a network.

    Args:
        model: a forward pass whose parameters and buffers are initializers.
        requires_grad: names of its trained parameters, and of the inputs with a gradient.
        bucket_bytes: size of the buckets in which gradients are exchanged.
    """
    import onnx

    sizes = {
        tensor.name: _bytes(tensor)
        for tensor in model.graph.initializer
        if tensor.name in requires_grad
    }
    total = sum(sizes.values())
    if total <= bucket_bytes or has_calls(model):
        return ()
    given = {value.name for value in (*model.graph.input, *model.graph.initializer)}
    if any(value.name in given for value in model.graph.output):
        # Such a result is a copy; between pieces it would be the argument itself.
        return ()
    graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    least = max(bucket_bytes, total // MOST_PIECES)
    cuts: list[int] = []
    done = 0
    waiting = _places(graph, sizes, requires_grad)
    while waiting:
        ready = [each for each in waiting if each.bytes_after >= done + least]
        near = [each for each in ready if each.bytes_after <= done + 2 * least] or ready[:1]
        if not near:
            break
        # `min` takes the first of the narrowest, which lies last in the graph.
        cut = min(near, key=lambda place: place.width)
        cuts.append(cut.node)
        done = cut.bytes_after
        waiting = [each for each in ready if each.node < cut.node]
    return tuple(reversed(cuts))


def _places(
    graph: onnx.GraphProto, sizes: dict[str, int], requires_grad: Collection[str]
) -> list[_Place]:
    """Possible cuts of `graph`, from its end to its beginning."""
    parameters = _parameters_read(graph, sizes)
    types = {
        value.name: value.type.tensor_type.elem_type
        for value in (*graph.value_info, *graph.output, *graph.input)
    }
    first: dict[str, int] = {}
    for node, names in enumerate(parameters):
        for name in names or ():
            first.setdefault(name, node)
    at_node = [0] * len(graph.node)
    for name, node in first.items():
        at_node[node] += sizes[name]
    before = list(accumulate(at_node, initial=0))
    widths = _widths(graph, parameters, types, requires_grad)
    places, owners = [], set[str]()
    for node, names in enumerate(parameters):
        if not names:
            continue
        here = {name.rpartition(".")[0] for name in names}
        width = widths[node]
        if before[node] and owners.isdisjoint(here) and width is not None:
            places.append(_Place(node, before[-1] - before[node], width))
        owners = here
    return places[::-1]


def _parameters_read(graph: onnx.GraphProto, sizes: dict[str, int]) -> list[set[str] | None]:
    """For each node, the trained parameters that it reads, also through nodes that read only
    parameters and constants; None for those nodes, which are moved to their readers."""
    free: dict[str, set[str]] = {
        tensor.name: {tensor.name} & sizes.keys() for tensor in graph.initializer
    }
    found: list[set[str] | None] = []
    for node in graph.node:
        read = list(read_by(node))
        names = set[str]().union(*(free[name] for name in read if name in free))
        if all(name in free for name in read):
            free.update((name, names) for name in node.output)
            found.append(None)
        else:
            found.append(names)
    return found


def _widths(
    graph: onnx.GraphProto,
    parameters: Sequence[set[str] | None],
    types: dict[str, int],
    requires_grad: Collection[str],
) -> list[int | None]:
    """Before each node, the number of live values with a gradient; None if the type of one, or of
    another value that would cross, is not known."""
    end = len(graph.node)
    last = {name: place for place, node in enumerate(graph.node) for name in read_by(node)}
    last.update((value.name, end) for value in graph.output)
    differentiable = {value.name for value in graph.input} & set(requires_grad)
    changes, unknown = [0] * (end + 2), [0] * (end + 2)
    for name in differentiable:
        changes[0] += 1
        changes[last.get(name, 0) + 1] -= 1
    for place, node in enumerate(graph.node):
        names = parameters[place]
        if names is None:
            continue
        follows = bool(names) or not differentiable.isdisjoint(read_by(node))
        for name in filter(None, node.output):
            until = last.get(name, place)
            if not types.get(name):
                unknown[place + 1] += 1
                unknown[until + 1] -= 1
            elif follows and types[name] in _FLOATS:
                differentiable.add(name)
                changes[place + 1] += 1
                changes[until + 1] -= 1
    alive = list(accumulate(changes))[:end]
    return [
        None if unclear else width
        for width, unclear in zip(alive, accumulate(unknown), strict=False)
    ]


def _bytes(tensor: onnx.TensorProto) -> int:
    from onnx.helper import tensor_dtype_to_np_dtype

    count: int = math.prod(tensor.dims)
    return count * int(tensor_dtype_to_np_dtype(tensor.data_type).itemsize)
