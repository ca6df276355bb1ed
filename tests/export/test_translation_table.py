"""The table of translations that exports share is torch's, and stays it."""

from __future__ import annotations

import pytest
import torch
from torch.onnx._internal.exporter._registration import ONNXRegistry

from workbench.export import translation_table
from workbench.export.export import OPSET
from workbench.export.translation_table import kept_translation_table


def contents(table: ONNXRegistry) -> dict[object, list[object]]:
    """The table without what is equal only where it is the same object."""
    return {
        name: [
            (each.onnx_function, each.is_custom, each.is_complex, each.opset_introduced)
            for each in kept
        ]
        for name, kept in table.functions.items()
    }


def made() -> ONNXRegistry:
    """As `torch.onnx.export` makes one."""
    return ONNXRegistry().from_torchlib(opset_version=OPSET)


def test_this_version_of_torch_is_known() -> None:
    assert torch.__version__.startswith(translation_table.KNOWN_VERSION)


def test_additions_of_an_export_to_its_table_are_not_in_the_next() -> None:
    torchs = made()
    with kept_translation_table():
        first = made()
        assert contents(first) == contents(torchs)
        assert vars(first).keys() == vars(torchs).keys()
        assert first.opset_version == torchs.opset_version == OPSET
        first.register_op(torch.ops.aten.relu.default, lambda x: x)
        assert contents(first) != contents(torchs)
        assert contents(made()) == contents(torchs)


def test_the_opset_may_be_left_out_as_torchs_own_function_allows() -> None:
    expected = ONNXRegistry.from_torchlib().opset_version
    with kept_translation_table():
        assert ONNXRegistry.from_torchlib().opset_version == expected


def test_torch_has_its_own_function_back_even_after_an_error() -> None:
    before = ONNXRegistry.__dict__["from_torchlib"]

    def fail() -> None:
        with kept_translation_table():
            assert ONNXRegistry.__dict__["from_torchlib"] is not before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert ONNXRegistry.__dict__["from_torchlib"] is before


def test_another_version_of_torch_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation_table, "KNOWN_VERSION", "1.0.")
    before = ONNXRegistry.__dict__["from_torchlib"]
    with kept_translation_table():
        assert ONNXRegistry.__dict__["from_torchlib"] is before


def test_the_export_takes_the_kept_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch's function, which the exporter calls, is asked once for two exports."""
    from torch import nn

    from workbench.export.export import export_onnx

    asked: list[int] = []
    torchs = ONNXRegistry.from_torchlib

    def counted(opset_version: int) -> ONNXRegistry:
        asked.append(opset_version)
        return torchs(opset_version=opset_version)

    monkeypatch.setattr(translation_table, "_tables", {})
    monkeypatch.setattr(ONNXRegistry, "from_torchlib", staticmethod(counted))
    graphs = [
        export_onnx(
            nn.Linear(3, 2),
            [torch.ones(2, 3)],
            input_names=["x"],
            output_names=["y"],
            training=False,
        )
        for _ in range(2)
    ]
    assert len(asked) == 1
    assert [node.op_type for node in graphs[0].graph.node] == [
        node.op_type for node in graphs[1].graph.node
    ]
