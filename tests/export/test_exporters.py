"""Which exporter writes the graph: torch.export, else TorchScript where that is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from torch import nn

from workbench.errors import EngineError, ModelError
from workbench.export import exported_graph
from workbench.export.export import EXPORTER, EXPORTERS, export_onnx


def export(module: nn.Module, *shape: int, **settings: Any) -> onnx.ModelProto:
    x = np.random.default_rng(0).standard_normal((2, *shape)).astype(np.float32)
    settings = {"training": True, **settings}
    return export_onnx(module, (x,), input_names=["x"], output_names=["y"], **settings)


def wrote(graph: onnx.ModelProto) -> str:
    return {entry.key: entry.value for entry in graph.metadata_props}[EXPORTER]


def net() -> nn.Module:
    """Every layer that an exporter likes to fold into its neighbour."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Flatten(), nn.Linear(16, 3)
    )


@pytest.mark.parametrize("name", EXPORTERS)
def test_both_keep_parameters_layers_and_dropout(name: str) -> None:
    module = net()
    graph = export(module, 1, 6, exporters=[name])
    assert wrote(graph) == name
    weights = {item.name: numpy_helper.to_array(item) for item in graph.graph.initializer}
    for key, parameter in module.named_parameters():
        np.testing.assert_array_equal(weights[key], parameter.detach().numpy())
    kinds = [node.op_type for node in graph.graph.node]
    assert kinds.count("BatchNormalization") == kinds.count("Dropout") == 1
    layers = {n.op_type: {p.key: p.value for p in n.metadata_props} for n in graph.graph.node}
    assert layers["Conv"] == {"layer": "0"}
    assert graph.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert graph.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert all(layer.training for layer in module.modules())


@pytest.mark.parametrize("name", EXPORTERS)
def test_nodes_right_under_a_submodule_called_model_have_their_layer(name: str) -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale

    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = Scaled()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.model(x))

    graph = export(Named(), 3, exporters=[name])
    layers = {n.op_type: {p.key: p.value for p in n.metadata_props} for n in graph.graph.node}
    assert layers == {"Mul": {"layer": "model"}, "Tanh": {}}


@pytest.mark.parametrize("name", EXPORTERS)
def test_an_input_that_the_module_does_not_read_is_one_of_the_graph(name: str) -> None:
    class Second(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return self.layer(y)

    given = (torch.ones(2, 5, dtype=torch.int64), torch.ones(2, 3))
    graph = export_onnx(
        Second(),
        given,
        input_names=["x", "y"],
        output_names=["z"],
        training=True,
        exporters=[name],
    )
    x, y = graph.graph.input
    assert (x.name, y.name) == ("x", "y")
    assert x.type.tensor_type.elem_type == onnx.TensorProto.INT64
    assert [each.dim_param or each.dim_value for each in x.type.tensor_type.shape.dim] == [
        "batch",
        5,
    ]


@pytest.mark.parametrize("name", EXPORTERS)
def test_both_exports_compute_the_results_of_the_module(name: str) -> None:
    module = net().eval()
    graph = export(module, 1, 6, training=False, exporters=[name])
    x = np.random.default_rng(1).standard_normal((5, 1, 6)).astype(np.float32)
    (got,) = ReferenceEvaluator(graph).run(None, {"x": x})
    difference = np.abs(got - module(torch.from_numpy(x)).detach().numpy()).max()
    assert difference < 1e-5, f"largest difference {difference:.2e}"


@pytest.mark.parametrize("name", EXPORTERS)
def test_both_give_tied_weights_their_first_name(name: str) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4)
            self.second = nn.Linear(4, 4)
            self.second.weight = self.first.weight

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.second(self.first(x))

    graph = export(Tied(), 4, exporters=[name])
    names = [value.name for value in graph.graph.initializer]
    assert sorted(names) == ["first.bias", "first.weight", "second.bias"]


class Long(nn.Module):
    """Holds sizes to a range that a dimension by name alone does not state."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[1] < 5:
            x = x * 2
        return self.layer(x)


def test_constraints_on_sizes_are_left_to_torch() -> None:
    graph = export(Long(), 6, 3, dynamic_axes={"x": {1: "length"}}, exporters=["torch.export"])
    names = [dim.dim_param for dim in graph.graph.input[0].type.tensor_type.shape.dim]
    assert names == ["batch", "length", ""]
    assert graph.graph.output[0].type.tensor_type.shape.dim[1].dim_param == "length"
    x = np.ones((3, 12, 3), np.float32)
    assert ReferenceEvaluator(graph).run(None, {"x": x})[0].shape == (3, 12, 2)


class Opaque(nn.Module):
    """Cannot be followed by torch.export, but can be traced."""

    def __init__(self, frozen: bool = False) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.frozen = frozen

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_exporting():
            raise RuntimeError("no fake tensors here")
        y: torch.Tensor = self.layer(x)
        return y * torch.tensor(np.arange(len(x)))[:, None] if self.frozen else y


@pytest.mark.fault
def test_modules_that_torch_export_refuses_are_traced() -> None:
    graph = export(Opaque(), 4)
    assert wrote(graph) == "TorchScript"
    with pytest.raises(ModelError, match=r"torch\.export: no fake tensors here\.") as caught:
        export(Opaque(), 4, exporters=["torch.export"])
    assert "TorchScript" not in str(caught.value)


@pytest.mark.fault
def test_a_trace_with_a_frozen_size_is_refused() -> None:
    with pytest.raises(ModelError, match=r"TorchScript: .* broadcast"):
        export(Opaque(frozen=True), 4)


@pytest.mark.fault
@pytest.mark.parametrize("rows", [5, 8, 30, 100])
def test_a_branch_on_the_number_of_rows_is_never_traced(rows: int) -> None:
    class Branch(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2 if len(x) > rows else x

    with pytest.raises(ModelError, match=r"tracing changed the module"):
        export(Branch(), 4, exporters=["TorchScript"])


def test_a_branch_on_values_is_never_traced() -> None:
    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x) if x.sum() > 0 else x

    with pytest.raises(ModelError, match=r"cannot export Branches .*torch\.export:") as caught:
        export(Branches(), 4)
    assert "TorchScript" not in str(caught.value)


@pytest.mark.fault
def test_code_that_depends_on_the_batch_size_is_refused() -> None:
    class Pairs(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.layer(x)
            return y * 2 if x.shape[0] == 2 else y

    with pytest.raises(ModelError, match=r"the batch, to 2\. .* an if on it"):
        export(Pairs(), 4)


def test_a_finished_graph_has_the_outputs_of_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(model: Any, kept: set[str]) -> None:
        model.graph.outputs[0].name = f"other{len(kept)}"

    monkeypatch.setattr(exported_graph, "_fold_constants", rename)
    problem = r"'exported graph finished' left an invalid graph: its outputs are \['other"
    with pytest.raises(EngineError, match=problem):
        export(net(), 1, 6)
