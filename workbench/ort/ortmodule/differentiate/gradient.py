"""Differentiates the graph of a forward pass."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.errors import UntrainableError
from workbench.ort.graph.gradient_overrides import HiddenNodes
from workbench.ort.graph.rewrites.selected_rows import is_guarded
from workbench.ort.ortmodule.aten import Kernels, chosen_kernels
from workbench.ort.ortmodule.differentiate.backward_reads import backward_reads
from workbench.ort.ortmodule.differentiate.buffer_changes import BufferChanges, normalizations_of
from workbench.ort.ortmodule.differentiate.completion import complete
from workbench.ort.ortmodule.differentiate.forward import (
    ForwardNames,
    TrainableForward,
    trainable_forward,
)
from workbench.ort.ortmodule.differentiate.gradient_graph import (
    BuildReport,
    ForwardOutputs,
    GradientGraph,
)
from workbench.ort.ortmodule.differentiate.gradient_sources import gradient_sources
from workbench.ort.ortmodule.differentiate.graph_options import (
    changed_options_hint,
    families_report,
    graph_report,
    kernels_report,
    native_gradient,
    own_kernels_report,
)
from workbench.ort.ortmodule.differentiate.own_kernels import OwnKernels
from workbench.ort.ortmodule.differentiate.saved_graphs import SavedGraphs
from workbench.settings.option_report import OptionReport
from workbench.settings.ortmodule_options import ORTModuleOptions

if TYPE_CHECKING:
    import onnx


class _Native(NamedTuple):
    """Result of ONNX Runtime's gradient builder."""

    model: bytes
    """Serialized."""
    info: Any
    """A native GraphInfo: the names of inputs, outputs and gradients."""
    options: tuple[OptionReport, ...]
    """The effects of the builder's options."""


def build_gradient(
    model: onnx.ModelProto, names: ForwardNames, options: ORTModuleOptions, saved: SavedGraphs
) -> GradientGraph:
    """Differentiate `model` with respect to `names.requires_grad`.

    Args:
        model: a forward pass whose parameters and buffers are initializers; its outputs may be
            renamed.
        names: of its values.
        options: how to build it.
        saved: writes intermediate graphs, if enabled by the options.

    Raises:
        EngineError: the folder for graphs cannot be written.
        UntrainableError: it has a part without a gradient; names the operator and the remedy.
    """
    exported_nodes, normalizations = len(model.graph.node), normalizations_of(model)
    saved.save("forward", model)
    choice = chosen_kernels(options, model.graph)
    options = options.model_copy(update={"pytorch_kernels": choice.kernels})
    forward = trainable_forward(model, names, options)
    saved.save("trainable", forward.model)
    hidden = HiddenNodes(forward.gradients)
    native = _differentiate(forward, hidden, options)
    updates = forward.rewrites.state_updates
    completed, kernels, own = complete(
        native.model,
        hidden,
        forward.model.graph.output,
        [update.output for update in updates],
        options,
    )
    saved.save("gradient", completed)
    outputs = _outputs(native.info, [update.output for update in updates], completed)
    gradients = _gradients(native.info)
    return GradientGraph(
        model=completed,
        inputs=tuple(native.info.user_input_names),
        state=tuple(native.info.initializer_names),
        outputs=outputs,
        gradients=gradients,
        read_again=backward_reads(completed, (*names.inputs, *forward.names.state)),
        sources=gradient_sources(completed, gradients.values(), outputs.differentiable),
        buffers=BufferChanges(updates, normalizations),
        options=options,
        report=_report(
            forward, native, kernels, own, exported_nodes, options, choice.reason, saved
        ),
        library=own.library,
        guarded=is_guarded(forward.model.graph),
    )


def _differentiate(
    forward: TrainableForward, hidden: HiddenNodes, options: ORTModuleOptions
) -> _Native:
    model = hidden.hide(forward.model)
    try:
        builder = native_gradient(model.SerializeToString(), forward.names, options)
        info = builder.get_graph_info()
        built: bytes = builder.get_gradient_model()
    except Exception as error:
        raise UntrainableError(
            f"ONNX Runtime cannot build the gradient of this module: {error} "
            "Replace the layer that it names, or freeze every parameter before it."
            f"{changed_options_hint(options)}"
        ) from error
    return _Native(built, info, graph_report(model, built, forward.names, options))


def _outputs(info: Any, updates: list[str], completed: bytes) -> ForwardOutputs:
    """The module's results, as known to the builder, and `updates` of its buffers."""
    results = tuple(info.user_output_names)
    constant = set(info.output_grad_indices_non_differentiable)
    # Kernels inserted into the graph may read other results than the builder's operators.
    read = backward_reads(completed, results)
    saved = {index for index, name in enumerate(results) if name in read}
    return ForwardOutputs(
        names=(*results, *updates),
        differentiable=tuple(i for i in range(len(results)) if i not in constant),
        full_gradients=frozenset(info.output_grad_indices_require_full_shape),
        saved=tuple(sorted(saved.union(info.module_output_indices_requires_save_for_backward))),
    )


def _gradients(info: Any) -> dict[str, str]:
    """Input or parameter -> name of its gradient, in the order in which they come out."""
    of_parameters = zip(
        info.initializer_names_to_train, info.initializer_grad_names_to_train, strict=True
    )
    return {**dict(info.user_input_grad_names), **dict(of_parameters)}


def _report(
    forward: TrainableForward,
    native: _Native,
    kernels: Kernels,
    own: OwnKernels,
    exported_nodes: int,
    options: ORTModuleOptions,
    measured: str,
    saved: SavedGraphs,
) -> BuildReport:
    kernels = kernels.with_layers(forward.fused.layers)
    return BuildReport(
        exported_nodes=exported_nodes,
        trainable_ops=Counter(node.op_type for node in forward.model.graph.node),
        rewrites=forward.rewrites,
        kernels=kernels,
        options=(
            *native.options,
            *forward.options,
            kernels_report(options, kernels, measured),
            own_kernels_report(options, own),
            families_report(options),
            *saved.report,
        ),
    )
