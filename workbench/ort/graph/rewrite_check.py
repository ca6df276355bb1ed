"""Checks after every rewrite of a graph that ONNX Runtime runs; records the applied rewrites.

Rewrites that make a graph trainable have their own postconditions: `workbench.trainable`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.errors import EngineError
from workbench.onnx_io.graph_metadata import REWRITES
from workbench.onnx_io.nodes import values_read

if TYPE_CHECKING:
    import onnx


def check_rewrite(model: onnx.ModelProto, rewrite: str) -> None:
    """Check the graph that a rewrite left, and add the rewrite to those applied.

    - Every node, with its subgraphs, reads inputs, initializers and results of nodes. Their order
      is not checked: ONNX Runtime sorts nodes when it loads a graph.
    - Every value is computed once.
    - Every output of the graph is computed, an input or an initializer.
    - The domain of every node is declared.

    Args:
        model: rewritten.
        rewrite: its name, such as "attention kernels".

    Raises:
        EngineError: names the rewrite, the violated condition, and the rewrites before it.
    """
    entry = next((each for each in model.metadata_props if each.key == REWRITES), None)
    before = entry.value if entry is not None else ""
    problem = next(_problems(model), None)
    if problem is not None:
        raise EngineError(
            f"The rewrite '{rewrite}' left an invalid graph: {problem} Rewrites applied before "
            f"it: {before or 'none'}. This is a bug in the workbench, not in the model: please "
            "report it together with the model. Until it is fixed, train with engine='pytorch'."
        )
    if entry is None:
        entry = model.metadata_props.add(key=REWRITES)
    entry.value = f"{before}, {rewrite}" if before else rewrite


def _problems(model: onnx.ModelProto) -> Iterator[str]:
    graph = model.graph
    given = {value.name for value in (*graph.input, *graph.initializer)}
    given |= {tensor.values.name for tensor in graph.sparse_initializer}
    computed = Counter(name for node in graph.node for name in node.output if name)
    domains = {entry.domain for entry in model.opset_import} | {"", "ai.onnx"}
    for node in graph.node:
        if node.domain not in domains:
            yield f"the domain {node.domain!r} of {node.op_type} {node.name!r} is not declared."
        for name in filter(None, values_read(node)):
            if name not in given and name not in computed:
                yield f"{node.op_type} {node.name!r} reads {name!r}, which nothing computes."
        for name in filter(None, node.output):
            if name in given or computed[name] > 1:
                yield f"{node.op_type} {node.name!r} computes {name!r}, which there is already."
    for value in graph.output:
        if value.name not in given and value.name not in computed:
            yield f"output {value.name!r} is not computed."
