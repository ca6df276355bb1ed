"""Completes the graph of ONNX Runtime's gradient builder to the one that is run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from workbench.onnx_io.rewrite_check import check_rewrite, output_spec, output_specs
from workbench.ort.graph.gradient_overrides import HiddenNodes
from workbench.ort.graph.kernels.device_kernels import device_kernel_counts
from workbench.ort.graph.memory.recompute import recompute_in_backward
from workbench.ort.graph.rewrites.refused_sums import write_additions
from workbench.ort.graph.rewrites.safe_pooling import write_safe_pooling
from workbench.ort.graph.rewrites.standard_gradients import write_standard_gradients
from workbench.ort.ortmodule.aten import Kernels, Libraries, use_pytorch_kernels
from workbench.ort.ortmodule.differentiate.own_kernels import OwnKernels, use_own_kernels
from workbench.settings.ortmodule_options import ORTModuleOptions

if TYPE_CHECKING:
    import onnx

_NOT_DIFFERENTIABLE = "non_differentiable_outputs"


def complete(
    model: bytes,
    hidden: HiddenNodes,
    results: Iterable[onnx.ValueInfoProto],
    updates: Iterable[str],
    options: ORTModuleOptions,
) -> tuple[bytes, Kernels, OwnKernels]:
    """Complete a gradient graph, and choose its kernels.

    Args:
        model: serialized, as returned by the gradient builder.
        hidden: the nodes that were hidden from the builder.
        results: outputs of the module.
        updates: values of the forward pass that are the new values of buffers.
        options: how to build the graph.

    Returns:
        The graph, serialized, the choice for each operator, and the workbench's kernels in it.
    """
    import onnx

    proto = onnx.load_from_string(model)
    hidden.reveal(proto)
    _keep_results(proto, list(results))
    _return_from_forward(proto, updates)
    libraries = Libraries(options)
    keep = options.recomputes
    # Attention that PyTorch's kernel could not take whole, as with dropout, before its parts do.
    whole = libraries.left_to_own & {"attention"}
    use_own_kernels(proto, libraries.own | whole, keep_forward=keep)
    kernels = use_pytorch_kernels(proto, libraries, keep_forward=keep)
    own = use_own_kernels(proto, libraries.own | libraries.left_to_own, keep_forward=keep)
    write_standard_gradients(proto, but=libraries.own_gradients)
    kernels = kernels.beside(own.nodes, proto.graph)
    if own.nodes and not keep:
        recompute_in_backward(proto)
    write_additions(proto.graph)
    write_safe_pooling(proto)
    return proto.SerializeToString(), kernels, own._replace(nodes=device_kernel_counts(proto))


def _keep_results(model: onnx.ModelProto, results: Sequence[onnx.ValueInfoProto]) -> None:
    """Make `results` outputs of the graph, so that their memory is not reused.

    In the builder's graph a result is only kept as long as the backward pass needs it, so its
    memory would be reused while the caller still holds it.
    """
    present = {value.name for value in model.graph.output}
    added = [value for value in results if value.name not in present]
    expected = [output_spec(value) for value in (*model.graph.output, *added)]
    model.graph.output.extend(added)
    check_rewrite(model, "results kept", expected)


def _return_from_forward(model: onnx.ModelProto, updates: Iterable[str]) -> None:
    """Append `updates`, which have no gradient, to the outputs of the forward pass.

    The outputs of the forward pass are the inputs of the YieldOp.
    """
    from onnx.helper import make_attribute

    outputs = output_specs(model)
    yield_op = next(node for node in model.graph.node if node.op_type == "YieldOp")
    first = len(yield_op.input)
    yield_op.input.extend(updates)
    others = [attr for attr in yield_op.attribute if attr.name != _NOT_DIFFERENTIABLE]
    indices = [i for attr in yield_op.attribute if attr not in others for i in attr.ints]
    indices += range(first, len(yield_op.input))
    del yield_op.attribute[:]
    yield_op.attribute.extend(others)
    if indices:
        yield_op.attribute.append(make_attribute(_NOT_DIFFERENTIABLE, indices))
    check_rewrite(model, "updates of buffers returned", outputs)
