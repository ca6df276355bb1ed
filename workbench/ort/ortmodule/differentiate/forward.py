"""Prepares the forward pass of a module for ONNX Runtime's gradient builder."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from workbench.onnx_io.rewrite_check import check_rewrite, output_specs
from workbench.ort.graph.gradient import parameters_as_inputs
from workbench.ort.graph.padding.remove_padding import PaddingReport, remove_padding
from workbench.ort.graph.rewrites.einsum_products import write_einsum_products
from workbench.ort.graph.rewrites.gelu_approximation import approximate_gelu
from workbench.ort.graph.rewrites.label_sparsity import leave_out_ignored_labels
from workbench.ort.ortmodule.aten import Fused, Libraries, fuse_layers
from workbench.ort.ortmodule.differentiate.constant_results import keep_constant_results
from workbench.ort.ortmodule.differentiate.graph_options import (
    Differentiated,
    gelu_report,
    label_report,
    padding_report,
)
from workbench.settings.option_report import OptionReport
from workbench.settings.ortmodule_options import ORTModuleOptions
from workbench.trainable import leading_to_outputs, make_trainable
from workbench.trainable.custom_gradient import NodeGradient
from workbench.trainable.report import Report

if TYPE_CHECKING:
    import onnx


class ForwardNames(NamedTuple):
    """Roles of the named values of a forward graph."""

    inputs: Sequence[str]
    """Arguments of the module."""
    parameters: Sequence[str]
    """All parameters, trainable or not."""
    buffers: Collection[str]
    requires_grad: Collection[str]
    """The inputs and parameters that require a gradient."""


class TrainableForward(NamedTuple):
    """A forward pass that ONNX Runtime can differentiate."""

    model: onnx.ModelProto
    """Its parameters and buffers are inputs; its outputs are those of the module."""
    names: Differentiated
    rewrites: Report
    fused: Fused
    padding: PaddingReport
    constants: Sequence[NodeGradient]
    """Gradients of the constant outputs."""
    options: tuple[OptionReport, ...]
    """The effects of the options that change it."""

    @property
    def gradients(self) -> list[NodeGradient]:
        """Gradients of the nodes that ONNX Runtime does not differentiate."""
        own = (self.rewrites.gradients, self.fused.gradients, self.padding.gradients)
        return [*chain(*own), *self.constants]


def trainable_forward(
    model: onnx.ModelProto, names: ForwardNames, options: ORTModuleOptions
) -> TrainableForward:
    """Rewrite `model` so that ONNX Runtime can differentiate it.

    Args:
        model: a forward pass whose parameters and buffers are initializers; changed in place.
        names: of its values.
        options: how to build the graph.

    Raises:
        UntrainableError: lists each node that cannot be trained through, why, and a remedy.
    """
    write_einsum_products(model)
    losses = len(leave_out_ignored_labels(model)) if options.label_sparsity else 0
    padding = _leave_out_padding(model, names, options)
    _make_outputs_distinct(model)
    # ONNX Runtime fails for a parameter that no gradient reaches.
    requires_grad = leading_to_outputs(model, list(names.requires_grad))
    model, rewrites = make_trainable(model, requires_grad, (*names.parameters, *names.buffers))
    # The builder would need gradients of the buffers' new values; they are added again later.
    del model.graph.output[len(model.graph.output) - len(rewrites.state_updates) :]
    gelus = approximate_gelu(model) if options.gelu_approximation else 0

    present = {tensor.name for tensor in model.graph.initializer}
    state = [name for name in (*names.parameters, *names.buffers) if name in present]
    model = parameters_as_inputs(model, state)
    # The memory optimizer finds what to recompute by the operators of the forward pass.
    libraries = Libraries(options)
    fused = Fused() if options.recomputes else fuse_layers(model, requires_grad, libraries)

    constants = keep_constant_results(model)

    trained = [name for name in names.parameters if name in requires_grad and name in state]
    inputs = [name for name in names.inputs if name in requires_grad]
    reports = (
        label_report(options, losses),
        padding_report(options, padding),
        gelu_report(options, gelus),
    )
    differentiated = Differentiated(state, trained, inputs)
    return TrainableForward(model, differentiated, rewrites, fused, padding, constants, reports)


def _leave_out_padding(
    model: onnx.ModelProto, names: ForwardNames, options: ORTModuleOptions
) -> PaddingReport:
    if options.embedding_sparsity == "off":
        return PaddingReport()
    arguments = [name for name in names.inputs if name not in set(names.requires_grad)]
    padded_results = options.embedding_sparsity == "zeros"
    return remove_padding(model, arguments, padded_results=padded_results)


def _make_outputs_distinct(model: onnx.ModelProto) -> None:
    """Add an Identity to each output that is an input, a parameter or another output."""
    from onnx.helper import make_node

    graph, expected = model.graph, list(output_specs(model))
    taken = {value.name for value in graph.input} | {value.name for value in graph.initializer}
    for index, output in enumerate(graph.output):
        if output.name in taken:
            name = f"{output.name}.output_{index}"
            graph.node.append(make_node("Identity", [output.name], [name], name=f"{name}.identity"))
            output.name = name
            expected[index] = expected[index]._replace(name=name)
        taken.add(output.name)
    check_rewrite(model, "outputs made distinct", expected)
