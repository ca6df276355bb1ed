"""`python -m workbench.ort.kernel_library.check LIBRARY`: checks kernels that were just built.

It writes the graph and the results that `workbench.ort.kernel_library.load` compares with. They
come from NumPy, in float64, so that they do not depend on the compiler.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper
from safetensors.numpy import save_file

from workbench.ort.graph.kernels.device_kernels import DOMAIN
from workbench.ort.kernel_library.attention_reference import attention_check
from workbench.ort.kernel_library.load import CHECK_MODEL, CHECK_VALUES, check_kernels
from workbench.ort.kernel_library.window_reference import convolution_check, pooling_check

ROWS, SIZE = 70, 531
"""More elements than one thread computes at once, and a size that is not a multiple of the vector
length."""

FEW = 5
"""Rows where results depend on a single row: each process that trains reads the values."""

IGNORED = -100
"""A label that is ignored."""

Array = np.ndarray[Any, np.dtype[Any]]


class Case(NamedTuple):
    """One operator with its inputs and the correct outputs."""

    operator: str
    attributes: dict[str, Any]
    inputs: list[Array]
    outputs: list[Array]


def main() -> None:
    library = Path(sys.argv[1])
    write_check(library.parent)
    problem = check_kernels(library)
    if problem:
        sys.exit(problem)


def write_check(folder: Path) -> None:
    """Write the graph of all operators, and the values."""
    nodes, outputs = [], []
    values: dict[str, Array] = {}
    given: dict[int, str] = {}
    """Array -> the name of its input; several operators may have the same."""
    times = Counter[str]()
    """How often an operator came already."""
    for case in cases():
        name = (
            f"{case.operator}.{times[case.operator]}" if case.operator in times else case.operator
        )
        times[case.operator] += 1
        fed = [
            given.setdefault(id(array), f"{name}.in{index}")
            for index, array in enumerate(case.inputs)
        ]
        made = [f"{name}.out{index}" for index in range(len(case.outputs))]
        values |= dict(zip([*fed, *made], [*case.inputs, *case.outputs], strict=True))
        nodes.append(helper.make_node(case.operator, fed, made, name, domain=DOMAIN))
        nodes[-1].attribute.extend(
            helper.make_attribute(name, value) for name, value in case.attributes.items()
        )
        outputs += [_described(name, values[name]) for name in made]
    inputs = [_described(name, values[name]) for name in given.values()]
    model = helper.make_model(
        helper.make_graph(nodes, "kernels", inputs, outputs),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)],
        ir_version=9,
    )
    onnx.save(model, folder / CHECK_MODEL)
    save_file(
        {name: np.asarray(each, order="C") for name, each in values.items()}, folder / CHECK_VALUES
    )


def cases() -> Iterator[Case]:
    """Each operator, once for each way in which it computes."""
    drawn = np.random.default_rng(0)

    def normal(*shape: int) -> Array:
        return drawn.standard_normal(shape).astype(np.float32)

    x, dy = normal(ROWS, SIZE) * 3 + 1, normal(ROWS, SIZE)
    bias, scale = normal(SIZE), normal(SIZE)
    # The same objects for all, so that the file holds them once.
    few, of_few = x[:FEW], dy[:FEW]
    yield from _activations(x, dy, few, of_few, bias)
    yield from _layer_normalization(x, few, dy, scale, bias)
    yield from _rms_normalization(x, few, dy, scale)
    yield Case("ColumnSum", {"axes": 1}, [dy], _float(dy.sum(0, dtype=np.float64)))
    yield from _softmax(few, of_few)
    yield _embedding(drawn, dy)
    yield from _cross_entropy(drawn, x, normal(SIZE))
    for operator, attributes, inputs, outputs in (*convolution_check(drawn), *pooling_check(drawn)):
        yield Case(operator, attributes, inputs, _float(*outputs))
    yield from _attention(drawn)


def _activations(x: Array, dy: Array, few: Array, of_few: Array, bias: Array) -> Iterator[Case]:
    """Functions of each element: alone, of a sum with a bias, and times another tensor."""
    wide, upstream = x.astype(np.float64), dy.astype(np.float64)
    for kernel, function in (("Gelu", _gelu), ("TanhGelu", _tanh_gelu), ("Silu", _silu)):
        result, slope = function(few)
        yield Case(kernel, {}, [few], _float(result))
        yield Case(f"{kernel}Gradient", {}, [of_few, few], _float(of_few * slope))
        result, slope = function(wide + bias)
        yield Case(f"Bias{kernel}", {}, [few, bias], _float(result[:FEW]))
        gradients = _float(upstream * slope, (upstream * slope).sum(0))
        yield Case(f"Bias{kernel}Gradient", {}, [dy, x, bias], gradients)
    result, slope = _silu(few)
    yield Case("GatedSilu", {}, [few, of_few], _float(result * of_few))
    gradients = _float(of_few.astype(np.float64) * few * slope, few * result)
    yield Case("GatedSiluGradient", {}, [few, few, of_few], gradients)
    yield Case("ReluGradient", {}, [of_few, few], _float(np.where(few > 0, of_few, 0)))


def _gelu(value: Array) -> tuple[Array, Array]:
    """Its values and its derivatives."""
    value = value.astype(np.float64)
    distribution = np.vectorize(lambda each: math.erfc(-each / math.sqrt(2)) / 2)(value)
    density = np.exp(-(value**2) / 2) / math.sqrt(2 * math.pi)
    return value * distribution, distribution + value * density


def _tanh_gelu(value: Array) -> tuple[Array, Array]:
    """Its values and its derivatives."""
    value = value.astype(np.float64)
    factor, cubic = math.sqrt(2 / math.pi), 0.044715
    share = np.tanh(factor * (value + cubic * value**3))
    inner = factor * (1 + 3 * cubic * value**2)
    return value * (1 + share) / 2, (1 + share + value * (1 - share**2) * inner) / 2


def _silu(value: Array) -> tuple[Array, Array]:
    """Its values and its derivatives."""
    value = value.astype(np.float64)
    share = 1 / (1 + np.exp(-value))
    return value * share, share * (1 + value * (1 - share))


def _layer_normalization(
    x: Array, few: Array, dy: Array, scale: Array, bias: Array
) -> Iterator[Case]:
    wide, upstream, epsilon = x.astype(np.float64), dy.astype(np.float64), 1e-3
    mean = wide.mean(1, keepdims=True)
    inverse = 1 / np.sqrt(wide.var(1, keepdims=True) + epsilon)
    normalized, scaled = (wide - mean) * inverse, upstream * scale
    results = _float((normalized * scale + bias)[:FEW], mean[:FEW], inverse[:FEW])
    attributes, given = {"axis": 1, "epsilon": epsilon}, [few, scale, bias]
    yield Case("LayerNormalization", attributes, given, results)
    projected = normalized * (scaled * normalized).mean(1, keepdims=True)
    gradients = _float(
        inverse * (scaled - scaled.mean(1, keepdims=True) - projected),
        (upstream * normalized).sum(0),
        upstream.sum(0),
    )
    given = [dy, x, scale, *_float(mean, inverse)]
    yield Case("LayerNormalizationGradient", {"axis": -1}, given, gradients)


def _rms_normalization(x: Array, few: Array, dy: Array, scale: Array) -> Iterator[Case]:
    wide, upstream, epsilon = x.astype(np.float64), dy.astype(np.float64), 1e-3
    inverse = 1 / np.sqrt((wide**2).mean(1, keepdims=True) + epsilon)
    normalized, scaled = wide * inverse, upstream * scale
    results = _float((normalized * scale)[:FEW], inverse[:FEW])
    yield Case("RMSNormalization", {"axis": 1, "epsilon": epsilon}, [few, scale], results)
    projected = normalized * (scaled * normalized).mean(1, keepdims=True)
    gradients = _float(inverse * (scaled - projected), (upstream * normalized).sum(0))
    given = [dy, x, scale, *_float(inverse)]
    yield Case("RMSNormalizationGradient", {"axis": -1}, given, gradients)


def _softmax(x: Array, dy: Array) -> Iterator[Case]:
    """The gradients, which are computed from the results."""
    wide, upstream = x.astype(np.float64), dy.astype(np.float64)
    largest = wide.max(1, keepdims=True)
    sums = np.exp(wide - largest).sum(1, keepdims=True)
    (logarithms,) = _float(wide - largest - np.log(sums))
    (softmax,) = _float(np.exp(logarithms))
    along = (upstream * softmax).sum(1, keepdims=True)
    yield Case("SoftmaxGradient", {}, [dy, softmax], _float(softmax * (upstream - along)))
    along = np.exp(logarithms.astype(np.float64)) * upstream.sum(1, keepdims=True)
    yield Case("LogSoftmaxGradient", {}, [dy, logarithms], _float(upstream - along))


def _embedding(drawn: np.random.Generator, dy: Array) -> Case:
    """Where several rows are of one index, and some are counted from the last."""
    table = np.zeros((9, SIZE))
    indices = drawn.integers(-9, 9, ROWS)
    np.add.at(table, indices, dy.astype(np.float64))
    shape = np.array(table.shape, np.int64)
    return Case("EmbeddingGradient", {}, [shape, indices, dy], _float(table))


def _cross_entropy(drawn: np.random.Generator, scores: Array, weights: Array) -> Iterator[Case]:
    """With ignored rows and class weights."""
    wide, weights = scores.astype(np.float64), np.abs(weights)
    labels = drawn.integers(0, SIZE, ROWS)
    labels[::7] = IGNORED
    used, at_label = labels[:, None] != IGNORED, np.arange(SIZE) == labels[:, None]
    counted = np.where(at_label, weights, 0).sum(1, keepdims=True, dtype=np.float64)
    counted /= counted.sum()
    largest = wide.max(1, keepdims=True)
    powers = np.exp(wide - largest)
    sums = powers.sum(1, keepdims=True)
    of_label = np.where(at_label, wide, 0).sum(1, keepdims=True)
    loss = (counted * (np.log(sums) + largest - of_label)).sum()
    rows = _float(*(np.where(used, each, 0)[:, 0] for each in (largest, 1 / sums)))
    attributes, given = {"ignore_index": IGNORED, "mean": 1}, [scores, labels, weights]
    yield Case("CrossEntropy", attributes, given, [*_float(loss), *rows])
    dloss = np.float32(1.5)
    slopes = dloss * counted * (powers / sums - at_label)
    yield Case("CrossEntropyGradient", attributes, [np.array(dloss), *given, *rows], _float(slopes))

    # The class of each row counted from the last one, which is allowed.
    of_row = np.where(used, labels[:, None], 0) - SIZE
    rows = _float(largest[:, 0], 1 / sums[:, 0])
    at_label = np.arange(SIZE) - SIZE == of_row
    value = np.where(at_label, wide, 0).sum(1, keepdims=True) - largest - np.log(sums)
    yield Case("LogProbability", {}, [scores, of_row], [*_float(value), *rows])
    upstream = weights[:ROWS, None]
    slopes = upstream * (at_label - powers / sums)
    yield Case("LogProbabilityGradient", {}, [upstream, scores, of_row, *rows], _float(slopes))


def _attention(drawn: np.random.Generator) -> Iterator[Case]:
    attributes, inputs, outputs, upstream, gradients = attention_check(drawn)
    yield Case("Attention", attributes, inputs, outputs)
    yield Case("AttentionGradient", attributes, [upstream, *inputs, *outputs[1:]], gradients)


def _float(*arrays: Array) -> list[Array]:
    return [np.asarray(array, np.float32) for array in arrays]


def _described(name: str, value: Array) -> onnx.ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, value.shape)


if __name__ == "__main__":
    main()
