"""The part of a backward pass that is the gradient of some nodes of the forward pass."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.ort.graph.graph_editor import GraphEditor
from workbench.ort.graph.identifiers import GRADIENT

if TYPE_CHECKING:
    import onnx

_LARGEST = 60
"""Nodes of a region: more than any gradient that is looked for has."""


class BackwardRegion(NamedTuple):
    """Nodes that nothing but the gradients of some values, as a whole, leaves."""

    nodes: list[onnx.NodeProto]
    first: onnx.NodeProto
    """The first that reads the gradient of the result."""
    results: dict[str, list[str]]
    """Value -> its gradient, or the parts of it that the region computes; none of a frozen one."""


def backward_region(
    editor: GraphEditor,
    forward: Sequence[onnx.NodeProto],
    result: str,
    inputs: Sequence[str],
) -> BackwardRegion | None:
    """The gradient of `forward`, nodes that compute `result` from `inputs` and constants alone.

    How the gradient is written does not matter: what is computed from the gradient of `result`,
    from values between `inputs` and `result` and from constants alone, and leads to nothing but
    gradients of `inputs`, is the product with the derivative of `forward`.

    Returns:
        None where a value between them is read by something else, or where nothing differentiates.
    """
    upstream = result + GRADIENT
    inside = {name for node in forward for name in node.output if name} - {result}
    own = {id(node) for node in forward}
    known = {upstream, result, *inside, *inputs}
    starts = editor.readers(upstream)
    if not starts or not inside.isdisjoint(editor.outputs):
        return None
    found: dict[int, onnx.NodeProto] = {}
    results: dict[str, list[str]] = {name: [] for name in inputs}
    waiting = [*starts, *(node for name in sorted(inside) for node in editor.readers(name))]
    while waiting:
        node = waiting.pop()
        if id(node) in found or id(node) in own:
            continue
        found[id(node)] = node
        if len(found) > _LARGEST:
            return None
        for name in filter(None, node.output):
            of = next((each for each in inputs if _is_gradient(name, each)), None)
            if of is not None:
                results[of].append(name)
                continue
            if name in editor.outputs or any(id(each) in own for each in editor.readers(name)):
                return None
            known.add(name)
            waiting += editor.readers(name)
    before: dict[int, onnx.NodeProto] = {}
    if not all(
        _computable(editor, name, known, before)
        for node in found.values()
        for name in filter(None, node.input)
    ):
        return None
    removed = {**found, **_read_by(editor, before, found)}
    in_order = [node for node in editor.nodes if id(node) in removed]
    begin = {id(node) for node in starts}
    first = next(node for node in in_order if id(node) in begin)
    return BackwardRegion(in_order, first, {of: sorted(names) for of, names in results.items()})


def _is_gradient(name: str, of: str) -> bool:
    stem, _, number = name.rpartition("_")
    return name == of + GRADIENT or (stem == of + GRADIENT and number.isdigit())


def _computable(
    editor: GraphEditor, name: str, known: Collection[str], before: dict[int, onnx.NodeProto]
) -> bool:
    """Whether a value is known, or computed from known ones and constants by `before`."""
    if name in known or editor.constant(name) is not None:
        return True
    node = editor.producers.get(name)
    if node is None or len(before) > _LARGEST:
        return False
    if id(node) not in before:
        before[id(node)] = node
        return all(_computable(editor, each, known, before) for each in node.input if each)
    return True


def _read_by(
    editor: GraphEditor, before: dict[int, onnx.NodeProto], found: dict[int, onnx.NodeProto]
) -> dict[int, onnx.NodeProto]:
    """Those of `before` that nothing else reads than `found` and each other."""
    left = dict(before)
    while True:
        inner = {*found, *left}
        kept = {
            key: node
            for key, node in left.items()
            if not any(
                name in editor.outputs
                or any(id(each) not in inner for each in editor.readers(name))
                for name in node.output
            )
        }
        if len(kept) == len(left):
            return kept
        left = kept
