"""Statistics of the graphs that train a module, read from the graphs themselves."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from torch import nn

from workbench.ort.graph.memory.kept_values import (
    axis_sizes,
    described_inputs,
    kept_between_passes,
    results_of,
)
from workbench.ort.graph.node_statistics import (
    both_passes,
    draws,
    fusions,
    operator_counts,
    rewrites_of,
)
from workbench.ort.ortmodule.fallback_reasons import NORMAL_CALLS
from workbench.ort.ortmodule.module import ORTModule
from workbench.ort.ortmodule.session.function import Program
from workbench.run_folder.statistics import ByPyTorch, GraphStatistics, Memory

if TYPE_CHECKING:
    import onnx

    from workbench.ort.ortmodule.build_graph import BuiltGraph
    from workbench.ort.ortmodule.session.session import GradientSession


def graph_statistics(module: ORTModule) -> tuple[GraphStatistics, ...]:
    """Statistics of each graph that `module` has built so far, in their order."""
    found: list[GraphStatistics] = []
    exports: set[float | None] = set()
    for built in module.built_graphs:
        # The segments between custom autograd functions come from one export, with its time.
        again = built.origin.export_s in exports
        exports.add(built.origin.export_s)
        statistics = _of_built(built)
        found.append(statistics.model_copy(update={"export_s": None}) if again else statistics)
    return tuple(found)


def run_by_pytorch(module: ORTModule) -> tuple[ByPyTorch, ...]:
    """The calls that the wrapped module ran itself, by reason, and custom autograd functions."""
    calls = [
        ByPyTorch(what="the module", why=why, calls=count, fallback=why not in NORMAL_CALLS)
        for why, count in module.pytorch_calls.items()
    ]
    functions = [
        ByPyTorch(
            what=f"the autograd function {name}{f' ({count} calls)' * (count > 1)}",
            why="its backward is Python, so the graph is run in segments around it",
            fallback=True,
        )
        for name, count in Counter(module.functions).items()
    ]
    return (*calls, *functions)


def session_of(built: BuiltGraph) -> GradientSession:
    """The session that runs a graph; with custom autograd functions, that of a segment."""
    assert isinstance(built.program, Program)
    return built.session


def _of_built(built: BuiltGraph) -> GraphStatistics:
    import onnx

    session, origin = session_of(built), built.origin
    graph = session.graph
    given = onnx.load_from_string(graph.model).graph
    optimized = onnx.load_from_string(session.observation.optimized)
    run = onnx.shape_inference.infer_shapes(optimized).graph
    axes = axis_sizes(given, origin.inputs, origin.shapes)
    return GraphStatistics(
        inputs=described_inputs(given, origin.inputs, axes),
        export_s=origin.export_s,
        cache_s=origin.cache_s,
        gradient_s=origin.gradient_s,
        load_s=origin.load_s,
        exported_nodes=graph.report.exported_nodes,
        trainable_nodes=graph.report.trainable_ops.total(),
        built=both_passes(given),
        run=both_passes(run),
        rewritten=rewrites_of(graph.report.rewrites),
        fusions=fusions(run, graph.report.trainable_ops),
        draws=draws(graph.report.trainable_ops),
        operators=operator_counts(run),
        kernels=graph.report.kernels.chosen,
        threads=session.threads,
        memory=_memory(built, run, axes),
    )


def _memory(built: BuiltGraph, run: onnx.GraphProto, axes: dict[str, int]) -> Memory:
    graph = session_of(built).graph
    sizes = {"trained": 0, "frozen": 0, "buffer": 0}
    for name, tensor in zip(graph.state, built.state.tensors, strict=True):
        frozen = "frozen" if isinstance(tensor, nn.Parameter) else "buffer"
        sizes["trained" if name in graph.gradients else frozen] += tensor.nbytes
    kept, results = kept_between_passes(run, graph.state, axes), results_of(run, axes)
    return Memory(
        trained_bytes=sizes["trained"],
        frozen_bytes=sizes["frozen"],
        buffer_bytes=sizes["buffer"],
        result_bytes=results.total_bytes,
        kept_bytes=kept.total_bytes,
        kept_values=kept.values,
        unknown_values=kept.unknown + results.unknown,
    )
