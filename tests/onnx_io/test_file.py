"""ONNX files that cannot be used, each refused with its reason and nothing run."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.external_data_helper import convert_model_to_external_data

from tests.onnx_io.onnx_models import mlp, model, tensor, weight
from workbench.errors import ModelError
from workbench.load import load_model


def refused(path: Path, message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


def written(folder: Path, content: bytes | onnx.ModelProto) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
    return path


@pytest.mark.fault
def test_a_missing_file(tmp_path: Path) -> None:
    refused(tmp_path / "model.onnx", "does not exist")
    refused(tmp_path, "is a folder")


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_a_pickle_is_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    refused(written(tmp_path, pickle.dumps(Trap(mark))), "not ONNX: .* a Python pickle")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "contains no graph"),
        (b"\xff" * 100, "is not an ONNX file: choose a file that `torch.onnx.export`"),
        (b"name,age\n1,2\n" * 9, "is not an ONNX file"),
        (b"PK\x03\x04" + bytes(99), r"zip archive, such as PyTorch's \.pt"),
        (b"<!DOCTYPE html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"\x08\x09", "contains no graph"),
    ],
)
def test_a_file_that_is_not_onnx(tmp_path: Path, content: bytes, message: str) -> None:
    refused(written(tmp_path, content), message)


@pytest.mark.parametrize("kept", [0.2, 0.6, 0.95])
def test_a_truncated_file(tmp_path: Path, kept: float) -> None:
    whole = mlp().SerializeToString()
    refused(written(tmp_path, whole[: int(kept * len(whole))]), "truncated or corrupt")


def test_too_new_or_too_old_a_version(tmp_path: Path) -> None:
    made = mlp(opset=22, ir_version=10)
    made.opset_import[0].version = 23
    refused(written(tmp_path, made), "opset 23, which is too new: opsets 7 to 22.*opset_version=21")
    made.opset_import[0].version = 6
    refused(written(tmp_path, made), "opset 6, which is too old")


def test_a_file_beyond_two_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate(2**31)  # sparse: takes no space
    refused(path, "larger than 2 GB")


def broken(change: str) -> onnx.ModelProto:
    made = mlp()
    if change == "unknown operator":
        made.graph.node[1].op_type = "Reluu"
    elif change == "no such value":
        made.graph.node[1].input[0] = "nowhere"
    elif change == "wrong shape":
        made.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 5
    elif change == "cycle":
        made.graph.node[0].input[0] = "r"
    elif change == "short data":
        made.graph.initializer[0].raw_data = b"\0\0"
    return made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "unknown operator",
            r"node 'relu' has operator Reluu, .*opset 20.*Did you mean '\w*Relu",
        ),
        ("no such value", "'nowhere' of node"),
        ("wrong shape", "valid ONNX model: .+"),
        ("cycle", r"form a cycle: (\w+ \((first|relu)\) -> )+\w+ \((first|relu)\)"),
        ("short data", "data of tensor 'w1' does not fit"),
    ],
)
def test_an_invalid_graph(tmp_path: Path, change: str, message: str) -> None:
    refused(written(tmp_path, broken(change)), message)


def test_an_operator_of_another_domain(tmp_path: Path) -> None:
    made = mlp()
    made.graph.node[1].domain = "my.company"
    made.opset_import.append(helper.make_opsetid("my.company", 1))
    refused(written(tmp_path, made), "node 'relu' with operator Relu of domain 'my.company'")


@pytest.mark.fault
def test_a_graph_that_cannot_be_fed(tmp_path: Path) -> None:
    relu = helper.make_node("Relu", ["w"], ["y"])
    refused(written(tmp_path, model([relu], [], [tensor("y", [2])], {"w": weight(2)})), "no inputs")
    sequence = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None)
    node = helper.make_node("SequenceLength", ["x"], ["y"])
    made = model([node], [sequence], [tensor("y", [], TensorProto.INT64)], {})
    with pytest.raises(ModelError, match="'x' of the graph is a sequence_type"):
        load_model(written(tmp_path, made))
    node = helper.make_node("Identity", ["x"], ["y"])
    text = model(
        [node], [tensor("x", ["n"], TensorProto.STRING)], [tensor("y", ["n"], TensorProto.STRING)],
        {},
    )  # fmt: skip
    with pytest.raises(ModelError, match="'x' of the graph has the unsupported type STRING"):
        load_model(written(tmp_path, text))


# External data


def external(folder: Path) -> Path:
    """The MLP in `folder`, all weights in weights.bin beside it."""
    made = mlp()
    convert_model_to_external_data(made, location="weights.bin", size_threshold=0)
    path = folder / "model.onnx"
    onnx.save(made, path)
    return path


def relocated(path: Path, **fields: str) -> Path:
    """The same model, whose first external tensor says something else of its place."""
    made = onnx.load(path, load_external_data=False)
    for entry in made.graph.initializer[0].external_data:
        entry.value = fields.get(entry.key, entry.value)
    path.write_bytes(made.SerializeToString())
    return path


def test_external_data_is_read(tmp_path: Path) -> None:
    loaded = load_model(external(tmp_path))
    (tmp_path / "weights.bin").unlink()
    assert np.array_equal(loaded.weights()["w1"], weight(8, 4))
    loaded.save(tmp_path / "saved")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == [
        "model.json",
        "model.onnx",
    ]


@pytest.mark.fault
def test_missing_external_data(tmp_path: Path) -> None:
    path = external(tmp_path)
    (tmp_path / "weights.bin").unlink()
    refused(path, r"'w1' .* in 'weights\.bin', which is missing")


def test_short_external_data(tmp_path: Path) -> None:
    path = external(tmp_path)
    data = tmp_path / "weights.bin"
    data.write_bytes(data.read_bytes()[:-4])
    refused(path, r"Tensor 'b2' of .* is truncated")


@pytest.mark.parametrize(
    "fields", [{"offset": "-5"}, {"length": "999999"}, {"length": "many"}, {"offset": "9e9"}]
)
def test_an_impossible_place_in_external_data(tmp_path: Path, fields: dict[str, str]) -> None:
    refused(relocated(external(tmp_path), **fields), "Tensor 'w1' of .* (truncated|invalid offset)")


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("../outside.bin", "outside the folder"),
        ("sub/../../outside.bin", "outside the folder"),
        ("/etc/passwd", "outside the folder"),
        ("C:\\outside.bin", "outside the folder"),
        ("..\\outside.bin", "outside the folder"),
        ("link.bin", "symbolic link to outside"),
        ("linked/outside.bin", "symbolic link to outside"),
        ("", "has no file name"),
        (".", "missing"),
    ],
)
def test_external_data_outside_the_folder(tmp_path: Path, location: str, message: str) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    path = external(folder)
    (tmp_path / "outside.bin").write_bytes((folder / "weights.bin").read_bytes())
    (folder / "link.bin").symlink_to(tmp_path / "outside.bin")
    (folder / "linked").symlink_to(tmp_path)
    refused(relocated(path, location=location), message)


def test_external_data_in_a_subgraph_is_watched_too(tmp_path: Path) -> None:
    secret = helper.make_tensor("k", TensorProto.FLOAT, [1], b"\0\0\0\0", raw=True)
    secret.ClearField("raw_data")
    secret.data_location = TensorProto.EXTERNAL
    secret.external_data.add(key="location", value="../secret")
    branch = helper.make_graph(
        [helper.make_node("Constant", [], ["k"], value=secret)], "branch", [], [tensor("k", [1])]
    )
    made = model(
        [helper.make_node("If", ["x"], ["y"], then_branch=branch, else_branch=branch)],
        [tensor("x", [1], TensorProto.BOOL)],
        [tensor("y", [1])],
        {},
    )
    refused(written(tmp_path, made), "'../secret', outside the folder")


@pytest.mark.fault
@pytest.mark.parametrize("text", [b"first", b"relu", b"w1", b"Gemm", b"transB"])
def test_names_that_are_no_text(tmp_path: Path, text: bytes) -> None:
    content = mlp().SerializeToString()
    assert text in content
    path = tmp_path / "model.onnx"
    path.write_bytes(content.replace(text, b"\xff" * len(text)))
    refused(path, "is not valid UTF-8")
