"""Which results of a module each gradient is computed from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.ort.graph.node_statistics import YIELD
from workbench.ort.ortmodule.capture.segments.graph_split import read_by


def gradient_sources(
    model: bytes, gradients: Iterable[str], results: Sequence[int]
) -> tuple[frozenset[int], ...]:
    """For each gradient the results of the module whose gradients it is computed from.

    A parameter has none, in PyTorch, if nothing that uses these results needs a gradient: an
    optimizer leaves it as it is, and would decay its weights if it had a gradient of zeros.

    Args:
        model: serialized, with forward and backward pass.
        gradients: names of values in it.
        results: indices of the results whose gradients the backward pass takes, in their order.
    """
    import onnx

    sources: dict[str, frozenset[int]] = {}
    none = frozenset[int]()
    for node in onnx.load_from_string(model).graph.node:
        if node.op_type == YIELD:
            given = zip(node.output, results, strict=True)
            sources.update((name, frozenset({index})) for name, index in given)
            continue
        found = none.union(*(sources[name] for name in read_by(node) if name in sources))
        if found:
            sources.update((name, found) for name in node.output if name)
    return tuple(sources.get(name, none) for name in gradients)
