"""LoRA in a graph: the results are those of weights to which the product was added."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from workbench.lora.adapter import initial_adapters, merged
from workbench.lora.graph import graph_linear_weights, with_lora
from workbench.lora.linear_weight import LinearWeight
from workbench.settings.lora import LoraOptions

OPTIONS = LoraOptions(rank=2, alpha=5, seed=1)
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(3, 4)).astype(np.float32)
WEIGHTS = {
    "first": RANDOM.normal(size=(4, 6)).astype(np.float32),
    "second": RANDOM.normal(size=(5, 6)).astype(np.float32),
    "third": RANDOM.normal(size=(5, 5)).astype(np.float32),
    "bias": RANDOM.normal(size=(5,)).astype(np.float32),
}
LINEAR = {
    "first": LinearWeight("first", 4, 6, inputs_first=True),
    "second": LinearWeight("second", 6, 5),
    "third": LinearWeight("third", 5, 5),
}


def graph(
    *nodes: onnx.NodeProto, x: tuple[int | str, ...] = ("batch", 4), opset: int = 17
) -> onnx.ModelProto:
    made = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "outputs"])],
        [numpy_helper.from_array(value, name) for name, value in WEIGHTS.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.fixture
def model() -> onnx.ModelProto:
    """Each way in which a linear layer is exported; `third` is used twice."""
    node = helper.make_node
    return graph(
        node("MatMul", ["x", "first"], ["a"], "a"),
        node("Relu", ["a"], ["b"], "b"),
        node("Gemm", ["b", "second", "bias"], ["c"], "c", transB=1, alpha=0.5),
        node("Transpose", ["third"], ["transposed"], "t", perm=[1, 0]),
        node("MatMul", ["c", "transposed"], ["d"], "d"),
        node("MatMul", ["d", "transposed"], ["y"], "y"),
    )


def outputs(model: onnx.ModelProto, **feeds: np.ndarray) -> np.ndarray:
    onnx.checker.check_model(model)
    result: np.ndarray = ReferenceEvaluator(model).run(None, {"x": X, **feeds})[0]
    return result


def trained_adapters() -> dict[str, np.ndarray]:
    """Values that are not 0."""
    return {
        name: value + RANDOM.normal(size=value.shape).astype(np.float32)
        for name, value in initial_adapters(LINEAR.values(), OPTIONS).items()
    }


def with_weights(model: onnx.ModelProto, weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for tensor in made.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(weights[tensor.name], tensor.name))
    return made


def test_the_weights_of_linear_layers_are_found(model: onnx.ModelProto) -> None:
    assert graph_linear_weights(model) == LINEAR


def test_initial_adapters_change_nothing(model: onnx.ModelProto) -> None:
    adapters = initial_adapters(LINEAR.values(), OPTIONS)
    edited = with_lora(model, list(LINEAR.values()), adapters, OPTIONS)
    worst = float(np.abs(outputs(edited) - outputs(model)).max())
    assert worst == 0, f"with B = 0 the outputs differ by {worst}"


def test_adapters_equal_merged_weights(model: onnx.ModelProto) -> None:
    adapters = trained_adapters()
    edited = with_lora(model, list(LINEAR.values()), adapters, OPTIONS)
    assert [value.name for value in edited.graph.output] == ["y"]
    expected = outputs(with_weights(model, merged(WEIGHTS | adapters, [*LINEAR.values()], OPTIONS)))
    worst = float(np.abs(outputs(edited) - expected).max() / np.abs(expected).max())
    assert worst <= 1e-5, f"adapters and merged weights differ by {worst}"
    moved = float(np.abs(expected - outputs(model)).max() / np.abs(expected).max())
    assert moved > 0.1, "the adapters of this test change too little"


def test_adapters_can_be_inputs(model: onnx.ModelProto) -> None:
    adapters = trained_adapters()
    zeros = {name: np.zeros_like(value) for name, value in adapters.items()}
    weights = list(LINEAR.values())
    edited = with_lora(model, weights, zeros, OPTIONS, as_inputs=True)
    assert [value.name for value in edited.graph.input] == ["x", *adapters]
    fixed = with_lora(model, weights, adapters, OPTIONS)
    assert np.array_equal(outputs(edited, **adapters), outputs(fixed))


def test_the_draw_of_an_adapter_depends_on_seed_and_name_alone() -> None:
    alone = initial_adapters([LINEAR["third"]], OPTIONS)
    every = initial_adapters(LINEAR.values(), OPTIONS)
    other = initial_adapters([LINEAR["third"]], LoraOptions(rank=2, seed=2))
    assert all(np.array_equal(alone[name], every[name]) for name in alone)
    assert not np.array_equal(alone["third.lora_A.weight"], other["third.lora_A.weight"])


@pytest.mark.parametrize(
    "nodes",
    [
        [helper.make_node("MatMul", ["third", "x"], ["y"], "y")],
        [helper.make_node("Gemm", ["x", "third"], ["y"], "y", transA=1)],
        [
            helper.make_node("MatMul", ["x", "third"], ["a"], "a"),
            helper.make_node("Add", ["a", "third"], ["y"], "y"),
        ],
        [
            helper.make_node("Split", ["third"], ["upper", "lower"], "split", num_outputs=2),
            helper.make_node("MatMul", ["upper", "x"], ["y"], "y"),
        ],
    ],
)
@pytest.mark.parametrize("inputs_first", [False, True])
def test_another_use_of_a_weight_reads_the_sum(
    nodes: list[onnx.NodeProto], inputs_first: bool
) -> None:
    """As the packed projections of attention are used, which are split."""
    other = graph(*nodes, x=(5, 5), opset=18)
    assert "third" not in graph_linear_weights(other)
    weight = LINEAR["third"]._replace(inputs_first=inputs_first)
    adapters = trained_adapters()
    edited = with_lora(other, [weight], adapters, OPTIONS)
    x = RANDOM.normal(size=(5, 5)).astype(np.float32)
    expected = outputs(with_weights(other, merged(WEIGHTS | adapters, [weight], OPTIONS)), x=x)
    worst = float(np.abs(outputs(edited, x=x) - expected).max())
    assert worst <= 1e-4, f"the sum and the merged weight differ by {worst}"


@pytest.mark.parametrize("read", [False, True])
def test_pointwise_convolutions_are_adapted(read: bool) -> None:
    """With stride and padding; and where something else reads the weight as well."""
    values = {
        "pointwise": RANDOM.normal(size=(6, 3, 1, 1)).astype(np.float32),
        "wide": RANDOM.normal(size=(2, 6, 3, 3)).astype(np.float32),
    }
    convolution = helper.make_node(
        "Conv", ["x", "pointwise"], ["a"], "a", strides=[2, 2], pads=[1, 1, 0, 0]
    )
    nodes = [convolution, helper.make_node("Conv", ["a", "wide"], ["y"], "b")]
    if read:
        nodes += [
            helper.make_node("ReduceSum", ["pointwise"], ["total"], "total", keepdims=0),
            helper.make_node("Add", ["y", "total"], ["z"], "z"),
        ]
    made = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 9, 9])],
        [helper.make_tensor_value_info("z" if read else "y", TensorProto.FLOAT, list("bchw"))],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(made, opset_imports=opset, ir_version=8)
    weight = LinearWeight("pointwise", 3, 6, kernel=(1, 1))
    assert graph_linear_weights(model) == ({} if read else {"pointwise": weight})
    adapters = {
        name: value + RANDOM.normal(size=value.shape).astype(np.float32)
        for name, value in initial_adapters([weight], OPTIONS).items()
    }
    assert adapters["pointwise.lora_A.weight"].shape == (2, 3, 1, 1)
    edited = with_lora(model, [weight], adapters, OPTIONS)
    x = RANDOM.normal(size=(2, 3, 9, 9)).astype(np.float32)
    expected = outputs(with_weights(model, merged(values | adapters, [weight], OPTIONS)), x=x)
    worst = float(np.abs(outputs(edited, x=x) - expected).max() / np.abs(expected).max())
    assert worst <= 1e-5, f"adapters and merged weights differ by {worst}"
