"""Modules with several inputs and outputs, by keyword, of any length and in half precision."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx.reference import ReferenceEvaluator
from torch import nn

from workbench.errors import ModelError
from workbench.load import load_model
from workbench.models import Model, TensorSpec, load_saved


@dataclasses.dataclass
class Returned:
    scores: torch.Tensor
    nothing: torch.Tensor | None
    parts: tuple[torch.Tensor, ...]
    cache: object


class Reader(nn.Module):
    """Optional arguments in another order than they are given; returns nested tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 4)
        self.head = nn.Linear(4, 9, bias=False)
        self.head.weight = self.table.weight
        self.register_buffer("shift", torch.full((4,), 0.5), persistent=False)
        self.register_buffer("scale", torch.full((4,), 2.0))

    def forward(
        self,
        ids: torch.Tensor | None = None,
        unused: torch.Tensor | None = None,
        mask: torch.Tensor | None = None,
        weight: torch.Tensor | None = None,
    ) -> Any:
        assert ids is not None
        assert mask is not None
        assert weight is not None
        x = self.table(ids) * self.scale + self.shift
        x = torch.where(mask[..., None], x, 0.0) * weight[..., None]
        return Returned(self.head(x), None, (x, ids), object())


AXES = {"ids": {0: "batch", 1: "length"}, "mask": {1: "length"}, "weight": {1: "length"}}


def inputs(batch: int = 2, length: int = 5) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(batch)
    return {
        "weight": generator.random((batch, length)).astype(np.float32),
        "mask": generator.random((batch, length)) > 0.3,
        "ids": generator.integers(0, 9, (batch, length)).astype(np.int32),
    }


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(Reader(), example_inputs=inputs(), dynamic_axes=AXES)


def test_inputs_by_keyword_and_nested_outputs(model: Model) -> None:
    assert model.inputs == (
        TensorSpec("weight", ("batch", "length"), "float32"),
        TensorSpec("mask", ("batch", "length"), "bool"),
        TensorSpec("ids", ("batch", "length"), "int64"),
    )
    assert model.outputs == (
        TensorSpec("scores", ("batch", "length", 9), "float32"),
        TensorSpec("parts_0", ("batch", "length", 4), "float32"),
        TensorSpec("parts_1", ("batch", "length"), "int64"),
    )


def test_the_module_takes_its_inputs_in_order_and_by_keyword(model: Model) -> None:
    module = model.module()
    tensors = [torch.from_numpy(array) for array in model.example_inputs()]
    named = dict(zip([spec.name for spec in model.inputs], tensors, strict=True))
    assert torch.equal(module(*tensors).scores, module(**named).scores)
    assert "head.weight" in module.state_dict()
    with pytest.raises(TypeError, match="4 inputs were given for weight, mask, ids"):
        module(*tensors, tensors[0])


def test_the_exported_graph_takes_any_batch_and_length(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "saved")
    assert load_saved(tmp_path / "saved").inputs == model.inputs
    path = model.export(tmp_path / "model.onnx")
    graph = onnx.load(path)
    # Tied weights are one, under the first name; the inputs keep their names.
    assert {"table.weight", "scale"} <= {value.name for value in graph.graph.initializer}
    assert [value.name for value in graph.graph.input] == ["weight", "mask", "ids"]
    assert [value.name for value in graph.graph.output] == ["scores", "parts_0", "parts_1"]
    onnx.checker.check_model(graph, full_check=True)
    evaluator = ReferenceEvaluator(graph)
    module = model.module().eval()
    for batch, length in ((2, 5), (3, 7), (1, 2)):
        feed = inputs(batch, length)
        feed["ids"] = feed["ids"].astype(np.int64)
        with torch.no_grad():
            returned = module(**{name: torch.from_numpy(array) for name, array in feed.items()})
        got = evaluator.run(None, feed)
        for array, tensor in zip(got, (returned.scores, *returned.parts), strict=True):
            assert array.shape == tensor.shape
            difference = np.abs(array - tensor.numpy()).max()
            assert difference < 1e-5, f"largest difference {difference:.2e}"


class Echo(nn.Module):
    """Returns what it was given, a parameter, and one tensor twice."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.layer(x)
        return {"y": y, "x": x, "weight": self.layer.weight, "again": [y, None, y + 1]}


def test_outputs_that_are_inputs_or_parameters_or_the_same(tmp_path: Path) -> None:
    model = load_model(Echo(), example_inputs=np.zeros((2, 3)))
    names = ["y", "x_", "weight", "again_0", "again_2"]
    assert [spec.name for spec in model.outputs] == names
    graph = onnx.load(model.export(tmp_path / "model.onnx"))
    onnx.checker.check_model(graph, full_check=True)
    assert [value.name for value in graph.graph.input] == ["x"]
    assert [value.name for value in graph.graph.output] == names
    assert {"layer.weight", "layer.bias"} <= {value.name for value in graph.graph.initializer}
    x = np.random.default_rng(0).random((4, 3)).astype(np.float32)
    y, echoed, weight, again, more = ReferenceEvaluator(graph).run(None, {"x": x})
    assert np.array_equal(echoed, x)
    assert np.array_equal(again, y)
    assert np.array_equal(weight, model.weights()["layer.weight"])
    assert np.allclose(more, y + 1)


def test_a_sequence_that_is_halved_is_of_any_length() -> None:
    module = nn.Conv1d(3, 4, 3, stride=2)
    examples = {"input": np.zeros((2, 3, 9), np.float32)}
    model = load_model(module, example_inputs=examples, dynamic_axes={"input": {2: "length"}})
    assert model.outputs[0].shape == ("batch", 4, "length")


@pytest.mark.fault
@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"idz": {1: "n"}}, r"there is no input 'idz'.*'ids'"),
        ({"ids": [1]}, r"\['ids'\] is \[1\]; it must map axes to names"),
        ({"ids": {2: "n"}}, "has axis 2, but the example has the axes 0 to 1"),
        ({"ids": {1: "batch"}}, "it must be a name other than"),
        ({"ids": {1: "n"}, "other": {1: "n"}}, "the name 'n' for axes of 5 and 4 elements"),
        ({"short": {1: "n"}}, "Axis 1 of example input 'short' has 1 elements"),
        ({"other": {1: "n"}}, "axes 'n' cannot have a size other than 4"),
    ],
)
def test_axes_that_cannot_be_dynamic(axes: Any, message: str) -> None:
    class Three(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(
            self, ids: torch.Tensor, other: torch.Tensor, short: torch.Tensor
        ) -> torch.Tensor:
            return self.layer(other) + ids.sum(1, keepdim=True) + short

    examples = (np.zeros((2, 5)), np.zeros((2, 4)), np.zeros((2, 1)))
    with pytest.raises(ModelError, match=message):
        load_model(Three(), example_inputs=examples, dynamic_axes=axes)


@pytest.mark.fault
def test_dynamic_axes_are_for_modules() -> None:
    with pytest.raises(
        ModelError, match=r"dynamic_axes can only be used with an nn\.Module or a factory"
    ):
        load_model("digits-mlp", dynamic_axes={"image": {1: "n"}})


# Half precision


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_module_in_half_precision_trains_in_float32(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).to(dtype)
    model = load_model(module, example_inputs=torch.ones(2, 4, dtype=dtype))
    name = str(dtype).removeprefix("torch.")
    (notice,) = model.notices
    assert notice == f"6 weights are {name}; trained and exported in float32."
    assert {array.dtype.name for array in model.weights().values()} == {"float32", "int64"}
    kept = module[0].weight.detach().float().numpy()
    assert np.array_equal(model.weights()["0.weight"], kept)
    assert module[0].weight.dtype == dtype, "the caller's own module is left as it was"
    model.save(tmp_path / "saved")
    assert load_saved(tmp_path / "saved").notices == model.notices
    graph = onnx.load(model.export(tmp_path / "model.onnx"))
    weights = {value.name: value for value in graph.graph.initializer}
    assert weights["0.weight"].data_type == onnx.TensorProto.FLOAT


def test_tied_weights_in_half_precision_stay_tied() -> None:
    module = Reader().half()
    model = load_model(module, example_inputs=inputs())
    built = model.module()
    assert built.head.weight is built.table.weight
    assert built.head.weight.dtype == torch.float32
    assert list(model.parameters) == ["table.weight"]


def test_an_example_input_that_cannot_be_converted_is_a_sentence() -> None:
    class Broken:
        def __array__(self, *_: Any, **__: Any) -> np.ndarray:
            raise ValueError("not today")

    for value, cause in ((Broken(), "Broken raised ValueError: not today"), ([[[1], [1, 2]]], "")):
        with pytest.raises(ModelError, match=f"Example input 0 is no array: .*{cause}"):
            load_model(nn.Linear(3, 2), example_inputs=value)  # type: ignore[arg-type]
