"""Losses as the last nodes of an ONNX graph, equal to those of `torch.nn.functional`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workbench.data.target_specs import target_names
from workbench.errors import ConfigError
from workbench.losses.loss import Loss
from workbench.losses.loss_functions import load_function
from workbench.losses.loss_outputs import outputs_read
from workbench.models import TensorSpec
from workbench.onnx_io.rewrite_check import check_rewrite, output_spec
from workbench.ort.losses.class_losses import cross_entropy, nll
from workbench.ort.losses.custom_loss import append_function, export_function
from workbench.ort.losses.elementwise_losses import ELEMENTWISE
from workbench.ort.losses.loss_graph import PREFIX, LossGraph, opset_of, shape_of, with_opset

if TYPE_CHECKING:
    import onnx


def append_losses(
    model: onnx.ModelProto,
    losses: Sequence[Loss],
    *,
    targets: Sequence[TensorSpec] | None = None,
    names: Sequence[str] | None = None,
    model_folder: Path | None = None,
    terms_too: bool = False,
) -> onnx.ModelProto:
    """A copy of `model` with the sum of `losses`, each of one output against one new last input.

    The outputs become the sum, a float32 scalar, then those of `model`. Every loss is the mean
    over its elements, times its factor. cross_entropy and nll have their classes on axis 1, as in
    torch, unless the output has rank 3 or more and the target has the shape of the output without
    its last axis; then the classes are last and every position counts as a sample. If the target
    is unknown, that is assumed for rank 3, as language models return it.
    A float32 target of cross_entropy holds the probabilities of the classes, on axis 1.

    A batch in which every label is ignored has a cross_entropy of 0, where torch has NaN.

    Args:
        model: its outputs are float32 and have the batch on axis 0.
        losses: at least one.
        targets: name, shape and dtype of each new input, one a loss, or all targets of a user
            function; None: not known.
        names: of the new inputs where `targets` is None.
        model_folder: of the saved model, with the user functions that `losses` does not contain.
        terms_too: with several losses, append the contribution of each as the last outputs.

    Raises:
        ConfigError: there is no such output, the numbers of losses and targets differ, or a
            function returns no scalar.
        UntrainableError: an output's shape does not fit its loss, or a function cannot be
            exported.
    """
    from onnx import TensorProto, helper

    read = outputs_read(losses, [value.name for value in model.graph.output])
    terms = _terms(losses, read, targets, names)
    own = {
        place: _exported(model, term, model_folder)
        for place, term in enumerate(terms)
        if term.loss.custom
    }
    made = with_opset(model, max((opset_of(graph) for graph in own.values()), default=0))
    graph = LossGraph(made.graph)
    outputs = list(made.graph.output)
    total, values, added = "", list[str](), list[str]()
    for place, term in enumerate(terms):
        loss, given = term.loss, [outputs[index] for index in term.outputs]
        if place in own:
            exported = with_opset(own[place], opset_of(made))
            value = append_function(graph, loss, exported, given, term.known_targets)
        else:
            value = _append(graph, loss, given[0], term.names[0], term.targets[0])
        if loss.factor != 1:
            value = graph.node("Mul", value, graph.constant(loss.factor))
        values.append(value)
        total = graph.node("Add", total, value) if total else value
    name = graph.call(total, PREFIX)
    if terms_too and len(values) > 1:
        added = [graph.call(value, f"{PREFIX}.term") for value in values]
    del made.graph.output[:]
    scalars = [helper.make_tensor_value_info(one, TensorProto.FLOAT, []) for one in (name, *added)]
    outputs = [scalars[0], *outputs, *scalars[1:]]
    made.graph.output.extend(outputs)
    check_rewrite(made, "losses", [*map(output_spec, outputs)])
    return made


class _Term(NamedTuple):
    """One loss with its outputs and targets."""

    loss: Loss
    outputs: tuple[int, ...]
    names: tuple[str, ...]
    """Names of its targets."""
    targets: tuple[TensorSpec | None, ...]

    @property
    def known_targets(self) -> list[TensorSpec]:
        """The specs of a function's targets.

        Raises:
            ConfigError: they are not known.
        """
        known = [target for target in self.targets if target is not None]
        if len(known) < len(self.targets):
            raise ConfigError(
                [
                    f"loss {self.loss.name} is a function, so the specs of its targets are "
                    "unknown. Pass a dataset as data=."
                ]
            )
        return known


def _terms(
    losses: Sequence[Loss],
    read: Sequence[tuple[int, ...]],
    targets: Sequence[TensorSpec] | None,
    names: Sequence[str] | None,
) -> list[_Term]:
    specs: Sequence[TensorSpec | None] = targets or [None] * len(losses)
    inputs = [spec.name for spec in targets] if targets else names or target_names(len(losses))
    if len(losses) == 1 and losses[0].custom:
        return [_Term(losses[0], read[0], tuple(inputs), tuple(specs))]
    if len(specs) != len(losses):
        raise ConfigError(
            [f"loss: {len(losses)} losses need as many targets, but there are {len(specs)}."]
        )
    return [
        _Term(loss, indices, (name,), (spec,))
        for loss, indices, name, spec in zip(losses, read, inputs, specs, strict=True)
    ]


def _exported(model: onnx.ModelProto, term: _Term, model_folder: Path | None) -> onnx.ModelProto:
    outputs = [model.graph.output[index] for index in term.outputs]
    function = load_function(term.loss, model_folder)
    return export_function(term.loss, function, outputs, term.known_targets)


def _append(
    graph: LossGraph,
    loss: Loss,
    output: onnx.ValueInfoProto,
    target: str,
    spec: TensorSpec | None,
) -> str:
    from onnx import TensorProto

    if loss.name == "cross_entropy":
        return cross_entropy(graph, loss, output, target, spec)
    if loss.name == "nll":
        return nll(graph, loss, output, target, spec)
    graph.input(target, TensorProto.FLOAT, shape_of(output))
    return ELEMENTWISE[loss.name](graph, loss, output.name, target)
