"""The training model: a forward graph with its loss, the gradient graph, and gradient buffers.

The layout is that required by ONNX Runtime's on-device `Module`:

    inputs   the model's own, the target, the parameters, one buffer a gradient, lazy_reset_grad
    outputs  the loss, one flag a state update, one flag a gradient
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workbench.errors import ArtifactsError
from workbench.onnx_io.rewrite_check import check_rewrite, output_spec, output_specs
from workbench.ort.graph.gradient_overrides import HiddenNodes
from workbench.ort.graph.identifiers import MICROSOFT
from workbench.ort.graph.kernels.device_kernels import name_as_portable, write_device_kernels
from workbench.ort.graph.memory.recompute import recompute_in_backward
from workbench.ort.graph.node_origins import NodeOrigin, NodeOrigins
from workbench.ort.graph.rewrites.batch_convolutions import BATCHED, write_batch_convolutions
from workbench.ort.graph.rewrites.refused_sums import write_additions
from workbench.ort.graph.rewrites.safe_pooling import SAFE_POOLING, write_safe_pooling
from workbench.ort.graph.rewrites.standard_gradients import write_standard_gradients
from workbench.ort.native import default_log_severity, native
from workbench.settings.operator_kernels import ONNX_RUNTIME

if TYPE_CHECKING:
    import onnx

    from workbench.trainable import NodeGradient, StateUpdate


_ERROR = 3
"""Severity of ONNX Runtime's log."""

_RESET = "lazy_reset_grad"
_ALWAYS = "state.overwrite"


def parameters_as_inputs(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """A copy of `model` in which the initializers called `names` are inputs, after its own."""
    import onnx
    from onnx import helper

    made = onnx.ModelProto()
    made.CopyFrom(model)
    given = {value.name: value for value in made.graph.initializer}
    kept = [value for name, value in given.items() if name not in set(names)]
    # Files of IR version 3 list initializers among the inputs too.
    own = [value for value in made.graph.input if value.name not in given]
    del made.graph.initializer[:]
    del made.graph.input[:]
    made.graph.initializer.extend(kept)
    made.graph.input.extend(own)
    made.graph.input.extend(
        helper.make_tensor_value_info(name, given[name].data_type, given[name].dims)
        for name in names
        if name in given
    )
    check_rewrite(made, "parameters as inputs", output_specs(model))
    return made


class TrainingGraph(NamedTuple):
    """A training model, and the origin of each of its nodes."""

    model: onnx.ModelProto
    origins: tuple[NodeOrigin, ...]
    """One for each node, in the order of the graph."""
    kernels: onnx.ModelProto | None
    """The same with the workbench's kernels, for a session that has their library; None if no node
    uses them."""


def build_training_graph(
    model: onnx.ModelProto,
    *,
    trainable: Sequence[str],
    frozen: Sequence[str],
    state_updates: Sequence[StateUpdate] = (),
    gradients: Sequence[NodeGradient] = (),
    weight_decay: float = 0.0,
    operator_kernels: Mapping[str, str] = MappingProxyType({}),
) -> TrainingGraph:
    """Append the gradient of the first output of `model`, its loss, to each trainable parameter.

    Args:
        model: forward graph with its loss as first output, as returned by `make_trainable` and
            `append_losses`.
        trainable: names of initializers; the loss depends on each.
        frozen: names of initializers that become inputs without a gradient.
        state_updates: buffers among `frozen` that every step overwrites, in place, with the value
            of the named output.
        gradients: gradients that the workbench defines.
        weight_decay: its product with the parameter is added to the gradient.
        operator_kernels: family, of `FAMILIES[GraphKind.DEVICE]` -> library, where that is not the
            workbench's.

    Raises:
        ArtifactsError: ONNX Runtime cannot build the gradient.
    """
    import onnx

    forward = parameters_as_inputs(model, [*trainable, *frozen])
    updated = {update.output for update in state_updates}
    outputs = [value for value in forward.graph.output[1:] if value.name in updated]
    loss = forward.graph.output[0]
    del forward.graph.output[1:]
    forward.graph.output.extend(outputs)

    hidden = HiddenNodes(gradients)
    given = hidden.hide(forward)
    optimized, built = _native_gradient(given, set(trainable), loss.name)
    made = onnx.load_from_string(built)
    origins = NodeOrigins(given.graph, onnx.load_from_string(optimized).graph, made.graph)
    hidden.reveal(made)
    kernels = onnx.ModelProto()
    kernels.CopyFrom(made)
    native = {family for family, library in operator_kernels.items() if library == ONNX_RUNTIME}
    if "convolution" not in native:
        write_batch_convolutions(kernels)
    own = write_device_kernels(kernels, but=operator_kernels)
    other = bool(own or native)
    if other:
        write_standard_gradients(kernels, but=native)
        recompute_in_backward(kernels, loss.name)
        _write_updates(kernels, loss, trainable, state_updates, weight_decay)
    batched = write_batch_convolutions(made)
    replaced = batched | write_standard_gradients(made)
    again = recompute_in_backward(made, loss.name)
    updates = _write_updates(made, loss, trainable, state_updates, weight_decay)
    for each in (made, kernels):
        write_additions(each.graph)
    pooled = write_safe_pooling(made)
    if other:
        write_safe_pooling(kernels)
    if other:
        name_as_portable(kernels.graph, made.graph)
    rewrites = dict.fromkeys(batched, BATCHED) | dict.fromkeys(pooled, SAFE_POOLING)
    replaced |= {**again, **pooled}
    found = origins.of(made.graph, hidden.expanded, updates, replaced, rewrites)
    return TrainingGraph(made, found, kernels if other else None)


def _write_updates(
    made: onnx.ModelProto,
    loss: onnx.ValueInfoProto,
    trainable: Sequence[str],
    state_updates: Sequence[StateUpdate],
    weight_decay: float,
) -> dict[str, str]:
    """Replace the outputs of the graph by in-place writes of buffers and gradients.

    Returns:
        The outputs of the new nodes, and the parameter or buffer of each.
    """
    from onnx import helper

    graph = made.graph
    if not any(entry.domain == MICROSOFT for entry in made.opset_import):
        made.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    found = {value.name: value for value in graph.output}
    del graph.output[:]
    graph.output.append(loss)
    updates = _write_state(graph, state_updates)
    flags = list(updates)
    # ONNX Runtime matches gradients with parameters by the order of the graph's inputs.
    for name in [value.name for value in graph.input if value.name in set(trainable)]:
        written = _accumulate(graph, name, found[f"{name}_grad"], weight_decay)
        updates.update(dict.fromkeys(written, name))
        flags.append(written[-1])
    graph.input.append(_flag(_RESET))
    check_rewrite(made, "updates in place", [*map(output_spec, (loss, *map(_flag, flags)))])
    return updates


def _native_gradient(model: onnx.ModelProto, trainable: set[str], loss: str) -> tuple[bytes, bytes]:
    """The graph after ONNX Runtime's optimizations, and that with its gradient."""
    ort = native()
    options = ort.SessionOptions()
    options.log_severity_level = _ERROR
    with default_log_severity(_ERROR):  # else a line for every graph transformer
        try:
            optimized: bytes = ort.get_optimized_model(
                model.SerializeToString(), trainable, options
            )
            builder = ort.GradientGraphBuilder(optimized, {loss}, trainable, loss, options)
            builder.build()
            built: bytes = builder.get_model()
        except Exception as error:
            reason = str(error).strip().splitlines()[-1]
            raise ArtifactsError(
                f"ONNX Runtime cannot build the gradient of this graph: {reason} "
                "wb.check(model) lists the operators that cannot be trained; an engine that trains "
                "with PyTorch does not need this gradient."
            ) from error
    return optimized, built


def _write_state(graph: onnx.GraphProto, updates: Sequence[StateUpdate]) -> dict[str, str]:
    """Overwrite each buffer in place: an accumulator that is reset each time copies.

    Returns:
        The output of each new node, and its buffer.
    """
    from onnx import helper, numpy_helper

    if not updates:
        return {}
    import numpy as np

    graph.initializer.append(numpy_helper.from_array(np.array([True]), _ALWAYS))
    for buffer, output in updates:
        flag = f"{output}.written"
        graph.node.append(
            helper.make_node(
                "InPlaceAccumulatorV2", [buffer, output, _ALWAYS], [flag], flag, domain=MICROSOFT
            )
        )
        graph.output.append(_flag(flag))
    return {f"{output}.written": buffer for buffer, output in updates}


def _accumulate(
    graph: onnx.GraphProto, parameter: str, gradient: onnx.ValueInfoProto, weight_decay: float
) -> tuple[str, ...]:
    """Add the gradient of `parameter` to its buffer, or overwrite it after a reset.

    Returns:
        The outputs of the new nodes, the flag last.
    """
    import onnx
    from onnx import helper

    name = gradient.name
    added = name
    if weight_decay:
        import numpy as np
        from onnx import numpy_helper

        factor, decay, added = f"{name}.factor", f"{name}.decay", f"{name}.decayed"
        graph.initializer.append(
            numpy_helper.from_array(np.array(weight_decay, np.float32), factor)
        )
        graph.node.append(helper.make_node("Mul", [parameter, factor], [decay], decay))
        graph.node.append(helper.make_node("Add", [name, decay], [added], added))
    buffer, flag = f"{name}.accumulation.buffer", f"{name}.accumulation.out"
    graph.node.append(
        helper.make_node(
            "InPlaceAccumulatorV2", [buffer, added, _RESET], [flag], flag, domain=MICROSOFT
        )
    )
    value = onnx.ValueInfoProto()
    value.CopyFrom(gradient)
    value.name = buffer
    graph.input.append(value)
    graph.output.append(_flag(flag))
    return (decay, added, flag) if weight_decay else (flag,)


def _flag(name: str) -> onnx.ValueInfoProto:
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, TensorProto.BOOL, [1])
