"""From the graph of a forward pass to one of forward and backward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.errors import UntrainableError
from workbench.onnx_io.graph_metadata import uses_running_statistics
from workbench.ort.graph.gelu_approximation import approximate_gelu
from workbench.ort.graph.gradient import parameters_as_inputs
from workbench.ort.graph.label_sparsity import leave_out_ignored_labels
from workbench.ort.graph.own_gradients import HiddenNodes
from workbench.ort.graph.relu_gradient import rewrite_relu_gradient
from workbench.ort.ortmodule.aten import Fused, Kernels, fuse_layers, use_pytorch_kernels
from workbench.ort.ortmodule.differentiate.backward_reads import backward_reads
from workbench.ort.ortmodule.differentiate.graph_options import (
    Differentiated,
    gelu_report,
    graph_report,
    kernels_report,
    label_report,
    native_gradient,
    options_in_the_way,
)
from workbench.ort.ortmodule.differentiate.saved_graphs import SavedGraphs
from workbench.settings.ortmodule_options import DEFAULTS, OptionReport, ORTModuleOptions
from workbench.trainable import leading_to_outputs, make_trainable
from workbench.trainable.report import Report

if TYPE_CHECKING:
    import onnx


class GradientGraph(NamedTuple):
    """Forward and backward in one graph, with the names of what goes in and comes out."""

    model: bytes
    """Serialized; runs to its YieldOp in the forward pass and on from there in the backward."""
    inputs: tuple[str, ...]
    """Arguments of the module that the graph reads."""
    state: tuple[str, ...]
    """Parameters and buffers that it reads; they are inputs too, after the others."""
    outputs: tuple[str, ...]
    """Results of the module, then the new values of its buffers."""
    differentiable: tuple[int, ...]
    """Indices of the outputs whose gradient the backward pass takes."""
    full_gradients: frozenset[int]
    """Indices of the outputs whose gradient must have the output's shape, zeros included."""
    saved: tuple[int, ...]
    """Indices of the outputs that the backward pass reads again."""
    gradients: dict[str, str]
    """Input or parameter -> name of its gradient, in the order in which they come out."""
    report: Report
    """What had to be rewritten, and which outputs are new values of buffers."""
    normalizations: Counter[str]
    """Buffer -> how many times the forward pass updates it."""
    given_nodes: int
    """Nodes of the forward pass as it was given."""
    trainable_ops: Counter[str]
    """Operators of the forward pass after it was rewritten, with the number of their nodes."""
    options: ORTModuleOptions
    """With which it was built, and is to be run."""
    options_report: tuple[OptionReport, ...]
    """What came of those that are about the graph."""
    saved_graphs: SavedGraphs
    """Takes the optimized graph too."""
    read_again: frozenset[str]
    """Arguments and parameters that the backward pass reads."""
    kernels: Kernels
    """Whose kernels run the operators for which there is a choice."""


def build_gradient(
    model: onnx.ModelProto,
    inputs: Sequence[str],
    parameters: Sequence[str],
    buffers: Collection[str],
    requires_grad: Collection[str],
    options: ORTModuleOptions = DEFAULTS,
) -> GradientGraph:
    """Differentiate `model` with respect to `requires_grad`.

    Args:
        model: a forward pass whose parameters and buffers are initializers; its outputs may be
            renamed.
        inputs: names of the arguments.
        parameters: names of the parameters, trainable or not.
        buffers: names of the buffers.
        requires_grad: names of parameters and inputs.
        options: how to build it.

    Raises:
        EngineError: the folder for graphs cannot be written.
        UntrainableError: it has a part without a gradient; names the operator and the way out.
    """
    normalizations = Counter(
        node.input[3]
        for node in model.graph.node
        if node.op_type == "BatchNormalization" and not uses_running_statistics(node)
    )
    given_nodes = len(model.graph.node)
    saved_graphs = SavedGraphs(options)
    saved_graphs.save("forward", model)
    losses = leave_out_ignored_labels(model) if options.label_sparsity else 0
    _give_outputs_names_of_their_own(model.graph)
    # ONNX Runtime fails for a parameter that no gradient reaches.
    requires_grad = leading_to_outputs(model, list(requires_grad))
    model, report = make_trainable(model, requires_grad)
    # The builder would look for gradients of the buffers' new values; they are put back later.
    updates = [update.output for update in report.state_updates]
    del model.graph.output[len(model.graph.output) - len(updates) :]
    gelus = approximate_gelu(model) if options.gelu_approximation else 0
    held = {tensor.name for tensor in model.graph.initializer}
    state = [name for name in (*parameters, *buffers) if name in held]
    model = parameters_as_inputs(model, state)
    trained = [name for name in parameters if name in requires_grad and name in state]

    # What is to be computed again is looked for by the operators of the forward pass.
    fuses = options.pytorch_kernels and not options.recomputes
    fused = fuse_layers(model, requires_grad) if fuses else Fused()
    hidden = HiddenNodes([*report.gradients, *fused.gradients])
    names = Differentiated(state, trained, [name for name in inputs if name in requires_grad])
    forward = hidden.hide(model)
    saved_graphs.save("trainable", model)
    try:
        builder = native_gradient(forward.SerializeToString(), names, options)
        info = builder.get_graph_info()
        built: bytes = builder.get_gradient_model()
        report_of_options = graph_report(forward, built, names, options)
    except Exception as error:
        raise UntrainableError(
            f"ONNX Runtime cannot build the gradient of this module: {error} "
            "Replace the layer that it names, or freeze every parameter before it."
            f"{options_in_the_way(options)}"
        ) from error
    no_gradient = {
        *info.output_grad_indices_non_differentiable,
        *range(len(info.user_output_names), len(info.user_output_names) + len(updates)),
    }
    outputs = (*info.user_output_names, *updates)
    of_inputs = dict(info.user_input_grad_names)
    of_parameters = dict(
        zip(info.initializer_names_to_train, info.initializer_grad_names_to_train, strict=True)
    )
    completed, kernels = _complete(built, hidden, model.graph.output, updates, options)
    kernels = kernels.with_layers(fused.layers)
    saved_graphs.save("gradient", completed)
    return GradientGraph(
        model=completed,
        inputs=tuple(info.user_input_names),
        state=tuple(info.initializer_names),
        outputs=outputs,
        differentiable=tuple(i for i in range(len(outputs)) if i not in no_gradient),
        full_gradients=frozenset(info.output_grad_indices_require_full_shape),
        saved=tuple(info.module_output_indices_requires_save_for_backward),
        gradients={**of_inputs, **of_parameters},
        report=report,
        normalizations=normalizations,
        given_nodes=given_nodes,
        trainable_ops=Counter(node.op_type for node in model.graph.node),
        options=options,
        options_report=(
            *report_of_options,
            label_report(options, losses),
            gelu_report(options, gelus),
            kernels_report(options, kernels.replaced, kernels.why_not),
            *saved_graphs.report,
        ),
        saved_graphs=saved_graphs,
        read_again=backward_reads(completed, (*inputs, *trained)),
        kernels=kernels,
    )


def _complete(
    model: bytes,
    hidden: HiddenNodes,
    results: Iterable[onnx.ValueInfoProto],
    updates: Iterable[str],
    options: ORTModuleOptions,
) -> tuple[bytes, Kernels]:
    """Reveal what was hidden, keep results, and let buffers' new values leave the forward pass.

    Then choose whose kernels run it.

    The forward pass gives out what the YieldOp reads. Afterwards the builder's graph has no more
    use for a result than the backward pass has, so its memory would be given to other values while
    the caller still holds it; what is an output of the graph keeps its memory to itself.
    """
    import onnx
    from onnx.helper import make_attribute

    proto = onnx.load_from_string(model)
    hidden.reveal(proto)
    graph = proto.graph
    present = {value.name for value in graph.output}
    graph.output.extend([value for value in results if value.name not in present])

    yield_op = next(node for node in graph.node if node.op_type == "YieldOp")
    first = len(yield_op.input)
    yield_op.input.extend(updates)
    others = [attr for attr in yield_op.attribute if attr.name != "non_differentiable_outputs"]
    given = [i for attr in yield_op.attribute if attr not in others for i in attr.ints]
    given += range(first, len(yield_op.input))
    del yield_op.attribute[:]
    yield_op.attribute.extend(others)
    if given:
        yield_op.attribute.append(make_attribute("non_differentiable_outputs", given))
    kernels = use_pytorch_kernels(
        proto,
        wanted=options.pytorch_kernels,
        keep_forward=options.recomputes,
    )
    rewrite_relu_gradient(graph)
    return proto.SerializeToString(), kernels


def _give_outputs_names_of_their_own(graph: onnx.GraphProto) -> None:
    """Let no output be an input, a parameter or another output: those get an Identity."""
    from onnx.helper import make_node

    taken = {value.name for value in graph.input} | {value.name for value in graph.initializer}
    for index, output in enumerate(graph.output):
        if output.name in taken:
            name = f"{output.name}.output_{index}"
            graph.node.append(make_node("Identity", [output.name], [name], name=f"{name}.identity"))
            output.name = name
        taken.add(output.name)
