"""ONNX files of other versions and habits, made what ONNX Runtime's training takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.onnx_io.onnx_models import mlp, model, tensor, weight
from workbench.check import check
from workbench.errors import ModelError
from workbench.load import load_model
from workbench.models import Model, load_saved
from workbench.onnx_io import external_data, large_file
from workbench.onnx_io.graph_metadata import REWRITES
from workbench.onnx_io.opset import opset_of
from workbench.ort.native import native


def loaded(folder: Path, made: onnx.ModelProto) -> Model:
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return load_model(path)


def exported(folder: Path, loaded_model: Model) -> onnx.ModelProto:
    graph = onnx.load(loaded_model.export(folder / "exported.onnx"))
    onnx.checker.check_model(graph, full_check=True)
    return graph


def run(made: onnx.ModelProto, **feed: np.ndarray) -> np.ndarray:
    return np.asarray(ReferenceEvaluator(made).run(None, feed)[0])


def old_net(opset: int) -> onnx.ModelProto:
    """A net of operators that have changed since, written as `opset` has them."""
    axes = {} if opset >= 13 else {"axes": [1]}
    also = ["one"] if opset >= 13 else []
    ratio = {"ratio": 0.5} if opset < 12 else {}
    bounds = {"min": -5.0, "max": 5.0} if opset < 11 else {}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["bn"]),
        helper.make_node("MaxPool", ["bn"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Dropout", ["p"], ["d"], **ratio),
        helper.make_node("Flatten", ["d"], ["f"]),
        helper.make_node("Gemm", ["f", "gw", "gb"], ["g"], transB=1),
        helper.make_node("Unsqueeze", ["g", *also], ["u"], **axes),
        helper.make_node("ReduceMean", ["u"], ["r"], axes=[1], keepdims=0),
        helper.make_node("Clip", ["r"], ["k"], **bounds),
        helper.make_node("Softmax", ["k"], ["y"], axis=1),
    ]
    weights = {"w": weight(2, 3, 3, 3), "gw": weight(4, 18), "gb": weight(4)}
    weights |= {name: np.abs(weight(2)) for name in "sbmv"}
    if opset >= 13:
        weights["one"] = np.array([1])
    image = tensor("x", ["n", 3, 8, 8])
    return model(nodes, [image], [tensor("y", ["n", 4])], weights, opset=opset, ir_version=4)


@pytest.mark.parametrize("opset", range(7, 18))
def test_an_older_opset_is_converted(tmp_path: Path, opset: int) -> None:
    made = old_net(opset)
    x = np.random.default_rng(0).standard_normal((3, 3, 8, 8)).astype(np.float32)
    native()  # first, so that onnxruntime leaves its own front end and torch alone
    from onnxruntime import InferenceSession

    (expected,) = InferenceSession(made.SerializeToString()).run(None, {"x": x})
    converted = loaded(tmp_path, made)
    assert list(converted.parameters) == ["w", "gw", "gb", "s", "b"]
    assert converted.outputs[0].shape == ("batch", 4)
    graph = exported(tmp_path, converted)
    assert opset_of(graph) == 18
    difference = np.abs(run(graph, x=x) - expected).max()
    assert difference < 1e-6, f"largest difference {difference:.2e}"


@pytest.mark.parametrize(("opset", "kept"), [(18, 18), (21, 21), (22, 21)])
def test_a_newer_opset_is_kept_or_lowered(tmp_path: Path, opset: int, kept: int) -> None:
    graph = exported(tmp_path, loaded(tmp_path, mlp(opset=opset, ir_version=10)))
    assert opset_of(graph) == kept
    assert [node.op_type for node in graph.graph.node] == ["Gemm", "Relu", "Gemm"]


@pytest.mark.parametrize("version", [3, 4, 10, 11, 13])
def test_any_ir_version_is_read(tmp_path: Path, version: int) -> None:
    made = mlp(ir_version=version)
    if version == 3:  # there, initializers are inputs as well
        made.graph.input.extend(
            helper.make_tensor_value_info(value.name, value.data_type, value.dims)
            for value in made.graph.initializer
        )
    read = loaded(tmp_path, made)
    assert [spec.name for spec in read.inputs] == ["x"]
    assert exported(tmp_path, read).ir_version <= 10


@pytest.mark.fault
def test_operators_that_cannot_be_converted_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("Assertion `false` failed: No Adapter From Version $8 for Gemm")

    monkeypatch.setattr(onnx.version_converter, "convert_version", refuse)
    message = r"opset 8 .* to opset 18, because of Gemm \(node 'first'\): .*opset_version=18"
    with pytest.raises(ModelError, match=message):
        loaded(tmp_path, mlp(opset=8))


# Weights as Constant nodes


def constants(made: onnx.ModelProto, names: list[str]) -> onnx.ModelProto:
    """`made` with those initializers as Constant nodes instead."""
    kept = [value for value in made.graph.initializer if value.name not in names]
    moved = [value for value in made.graph.initializer if value.name in names]
    nodes = [helper.make_node("Constant", [], [value.name], value=value) for value in moved]
    nodes += list(made.graph.node)
    graph = helper.make_graph(nodes, "graph", list(made.graph.input), list(made.graph.output), kept)
    return helper.make_model(graph, opset_imports=made.opset_import, ir_version=made.ir_version)


@pytest.mark.parametrize("names", [["w1", "b1", "w2", "b2"], ["w1", "b2"]])
def test_weights_in_constant_nodes_can_be_trained(tmp_path: Path, names: list[str]) -> None:
    read = loaded(tmp_path, constants(mlp(), names))
    assert set(read.parameters) == {"w1", "b1", "w2", "b2"}
    assert np.array_equal(read.weights()["w1"], weight(8, 4))
    x = np.ones((3, 4), np.float32)
    assert np.array_equal(run(exported(tmp_path, read), x=x), run(mlp(), x=x))


def test_other_constants_stay_nodes(tmp_path: Path) -> None:
    made = mlp()
    scale = numpy_helper.from_array(weight(3), "scale")
    made.graph.node[-1].output[0] = "h2"
    made.graph.node.append(helper.make_node("Constant", [], ["scale"], value=scale))
    made.graph.node.append(helper.make_node("Mul", ["h2", "scale"], ["y"]))
    assert set(loaded(tmp_path, made).parameters) == {"w1", "b1", "w2", "b2"}


# Half precision, functions, order


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_half_precision_is_trained_in_float32(tmp_path: Path, kind: int) -> None:
    made = mlp()
    for value in made.graph.initializer:
        array = numpy_helper.to_array(value)
        value.CopyFrom(helper.make_tensor(value.name, kind, array.shape, array.reshape(-1)))
    made.graph.input[0].type.tensor_type.elem_type = kind
    made.graph.node[-1].output[0] = "low"
    made.graph.node.append(helper.make_node("Cast", ["low"], ["half"], to=kind))
    made.graph.node.append(helper.make_node("Cast", ["half"], ["y"], to=TensorProto.FLOAT))
    read = loaded(tmp_path, made)
    name = TensorProto.DataType.Name(kind).lower()
    assert read.notices == (f"4 weights are {name}; trained and exported in float32.",)
    assert read.inputs[0].dtype == "float32"
    assert list(read.parameters) == ["w1", "b1", "w2", "b2"]
    applied = [each.value for each in read.graph().metadata_props if each.key == REWRITES]
    assert applied == ["half precision as float32"]
    rounded = np.abs(read.weights()["w1"] / weight(8, 4) - 1).max()
    assert 0 < rounded < 2**-8, f"largest relative difference {rounded:.2e}"
    read.save(tmp_path / "saved")
    assert load_saved(tmp_path / "saved").notices == read.notices
    x = np.ones((3, 4), np.float32)
    difference = np.abs(run(exported(tmp_path, read), x=x) - run(mlp(), x=x)).max()
    assert difference < 0.2, f"largest difference {difference:.2e}"


def test_functions_are_inlined(tmp_path: Path) -> None:
    made = mlp()
    body = [
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("Add", ["r", "a"], ["b"]),
    ]
    function = helper.make_function(
        "local", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 20)]
    )
    made.functions.append(function)
    made.opset_import.append(helper.make_opsetid("local", 1))
    made.graph.node[1].op_type, made.graph.node[1].domain = "Twice", "local"
    graph = exported(tmp_path, loaded(tmp_path, made))
    assert not graph.functions
    assert [node.op_type for node in graph.graph.node] == ["Gemm", "Relu", "Add", "Gemm"]
    x = np.ones((2, 4), np.float32)
    assert np.array_equal(run(graph, x=x), run(made, x=x))


def test_nodes_out_of_order_are_sorted(tmp_path: Path) -> None:
    made = mlp()
    nodes = [made.graph.node[index] for index in (2, 0, 1)]
    shuffled = helper.make_graph(
        nodes,
        "graph",
        list(made.graph.input),
        list(made.graph.output),
        list(made.graph.initializer),
    )
    made.graph.CopyFrom(shuffled)
    graph = exported(tmp_path, loaded(tmp_path, made))
    assert [node.name for node in graph.graph.node] == ["first", "relu", "second"]


def test_the_long_name_of_the_default_domain(tmp_path: Path) -> None:
    made = mlp()
    made.opset_import[0].domain = "ai.onnx"
    for node in made.graph.node:
        node.domain = "ai.onnx"
    graph = exported(tmp_path, loaded(tmp_path, made))
    assert {node.domain for node in graph.graph.node} == {""}


# Over 2 GB


def large(folder: Path, rows: int) -> Path:
    """A table of 2 kB a row in a file of holes, numbers only in its last row, and a small head."""
    made = model(
        [
            helper.make_node("Gather", ["table", "ids"], ["e"], name="embed"),
            helper.make_node("Gemm", ["e", "head"], ["y"], name="head", transB=1),
        ],
        [tensor("ids", ["n"], TensorProto.INT64)],
        [tensor("y", ["n", 3])],
        {"head": weight(3, 512)},
    )
    table = made.graph.initializer.add(name="table", data_type=TensorProto.FLOAT, dims=[rows, 512])
    table.data_location = TensorProto.EXTERNAL
    table.external_data.add(key="location", value="weights.bin")
    with (folder / "weights.bin").open("wb") as file:
        file.seek(4 * 512 * (rows - 1))
        file.write(np.ones(512, np.float32).tobytes())
    path = folder / "large.onnx"
    onnx.save(made, path)
    return path


def check_large(folder: Path, rows: int) -> None:
    """Load, save, load again, check and export without ever holding the table in memory."""
    read = load_model(large(folder, rows))
    assert read.parameters == {"head": (3, 512), "table": (rows, 512)}
    assert [layer.kind for layer in read.layers()] == ["Gather", "Gemm"]
    read.save(folder / "saved")
    on_disk = sum(file.stat().st_blocks * 512 for file in (folder / "saved").iterdir())
    assert on_disk < 2**20, "zeros stay holes"
    again = load_saved(folder / "saved")
    assert again.parameters == read.parameters
    assert check(again).ok
    path = again.export(folder / "out.onnx", {"head": np.ones((3, 512), np.float32)})
    assert path.stat().st_size < 2**20
    places = {
        value.name: {entry.key: entry.value for entry in value.external_data}
        for value in onnx.load(path, load_external_data=False).graph.initializer
    }
    assert places["table"]["location"] == "out.onnx.data"
    data = np.memmap(folder / "out.onnx.data", np.float32, "r", int(places["table"]["offset"]))
    assert data[512 * rows - 512 : 512 * rows].sum() == 512
    assert data[:512].sum() == 0


def test_external_data_that_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_data, "MOST_BYTES_READ", 2**20)
    monkeypatch.setattr(large_file, "MAX_BYTES", 2**20)
    monkeypatch.setattr(large_file, "HEADROOM_BYTES", 0)
    check_large(tmp_path, 2000)


@pytest.mark.sweep
def test_a_model_over_two_gigabytes(tmp_path: Path) -> None:
    check_large(tmp_path, 1_100_000)


@pytest.mark.fault
def test_large_external_data_of_another_length_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external_data, "MOST_BYTES_READ", 2**20)
    path = large(tmp_path, 2000)
    with (tmp_path / "weights.bin").open("ab") as file:
        file.write(b"more")
    with pytest.raises(ModelError, match=r"'table' of .* is corrupt: 4,096,004 bytes do not"):
        load_model(path)
