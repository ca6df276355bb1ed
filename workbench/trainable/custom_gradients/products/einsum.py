"""The gradient of Einstein's summation."""

from __future__ import annotations

import string
from collections.abc import Collection, Mapping
from typing import ClassVar

import onnx_ir as ir
from typing_extensions import override

from workbench.onnx_io.einsum import Terms, written_out
from workbench.trainable.custom_gradient import BackwardGraph, CustomGradient


class EinsumGradient(CustomGradient):
    """The sum of dY with the other inputs, over the axes that this input lacks.

    An axis of this input that neither the output nor another input has is a copy along it; one
    that occurs in it twice is a diagonal. Precondition: the ranks of the inputs and the dtype of
    the output are known, which they are not of ellipses of several ranks.
    """

    op: ClassVar[str] = "Einsum"

    @override
    def applies(self, node: ir.Node, inputs_requiring_grad: Collection[int]) -> bool:
        ranks_known = all(value is not None and value.shape is not None for value in node.inputs)
        return ranks_known and node.outputs[0].dtype is not None

    @override
    def backward(
        self, node: ir.Node, inputs_requiring_grad: Collection[int], graph: BackwardGraph
    ) -> Mapping[int, str]:
        terms = _terms(node)
        values, letters = [graph.gradient()], [terms.output]
        for index, term in enumerate(terms.inputs):
            value = graph.input(index)
            single = _single(node, index)
            if single:
                value = graph.node("Squeeze", value, graph.indices(single))
            values.append(value)
            letters.append("".join(x for axis, x in enumerate(term) if axis not in single))
        results = {}
        for index in inputs_requiring_grad:
            place = index + 1
            results[index] = _gradient(
                index,
                letters[place],
                [*values[:place], *values[place + 1 :]],
                [*letters[:place], *letters[place + 1 :]],
                _single(node, index),
                graph,
            )
        return results


def _terms(node: ir.Node) -> Terms:
    ranks = [
        0 if value is None or value.shape is None else len(value.shape) for value in node.inputs
    ]
    return written_out(node.attributes["equation"].as_string(), ranks)


def _single(node: ir.Node, index: int) -> list[int]:
    """The axes of an input that are of size one and may so be broadcast."""
    value = node.inputs[index]
    assert value is not None
    assert value.shape is not None
    return [axis for axis, size in enumerate(value.shape) if size == 1]


def _gradient(
    index: int,
    term: str,
    values: list[str],
    letters: list[str],
    single: list[int],
    graph: BackwardGraph,
) -> str:
    """The gradient to input `index`, whose `single` axes `term` leaves out.

    Args:
        index: of the input.
        term: letters of the input.
        values: dY and the other inputs.
        letters: of each of `values`.
        single: axes of size one, taken out of the input.
        graph: to build in.
    """
    values, letters = list(values), list(letters)
    shape = graph.node("Shape", graph.input(index))
    target = ""
    for axis, letter in enumerate(term):
        if letter not in target:
            target += letter
            continue
        # dX is zero off the diagonal: the second of the two axes gets another letter.
        own = next(x for x in string.ascii_letters if x not in "".join([*letters, term, target]))
        size = graph.node("Gather", shape, graph.indices([_before_squeeze(axis, single)]))
        square = graph.node("ConstantOfShape", graph.node("Concat", size, size, axis=0))
        values.append(graph.node("EyeLike", square))
        letters.append(letter + own)
        target += own
    known = "".join(letters)
    summed = "".join(letter for letter in target if letter in known)
    result = graph.node("Einsum", *values, equation=f"{','.join(letters)}->{summed}")
    copied = [axis for axis, letter in enumerate(target) if letter not in known]
    missing = sorted([*single, *(_before_squeeze(axis, single) for axis in copied)])
    if missing:
        result = graph.node("Unsqueeze", result, graph.indices(missing))
    return graph.node("Expand", result, shape) if copied else result


def _before_squeeze(axis: int, single: list[int]) -> int:
    """Which axis it was before those in `single`, in ascending order, were taken out."""
    for taken in single:
        axis += taken <= axis
    return axis
