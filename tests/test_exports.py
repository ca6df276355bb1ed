"""The table of translations that exports of these tests share is torch's, and stays it."""

from __future__ import annotations

import torch
from torch.onnx._internal.exporter._registration import ONNXRegistry

from tests.exports import share_translations


def functions(table: ONNXRegistry) -> dict[object, list[object]]:
    return {name: [each.onnx_function for each in kept] for name, kept in table.functions.items()}


def test_what_an_export_adds_to_its_table_is_not_in_the_next() -> None:
    torchs = functions(ONNXRegistry().from_torchlib(opset_version=20))
    share_translations()
    first = ONNXRegistry().from_torchlib(opset_version=20)
    assert functions(first) == torchs
    first.register_op(torch.ops.aten.relu.default, lambda x: x)
    assert functions(first) != torchs
    second = ONNXRegistry().from_torchlib(opset_version=20)
    assert functions(second) == torchs
    assert second.opset_version == 20
