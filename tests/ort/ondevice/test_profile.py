"""Profiles of on-device sessions, read from the files that ONNX Runtime writes."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from workbench.ort.ondevice.profile import step_timings
from workbench.run_folder.operator_timing import Timing

RUN = {"name": "SequentialExecutor::Execute", "ts": 0, "dur": 10}
KERNEL = {
    "name": "relu_kernel_time",
    "ts": 1,
    "dur": 7,
    "args": {"op_name": "Relu", "provider": "CPUExecutionProvider"},
}


def test_a_profile_of_the_session_for_evaluation_is_left_out(tmp_path: Path) -> None:
    """It is a file of its own where ONNX Runtime took more than a second to load the session."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], "relu")], "g", value[:1], value[1:]
    )
    onnx.save(helper.make_model(graph), tmp_path / "model.onnx")
    for name, events in (
        ("training-0_2026-01-01_00-00-00", [RUN, KERNEL]),
        ("training-0_2026-01-01_00-00-01", []),
        ("optimizer-1_2026-01-01_00-00-01", [RUN]),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(events))
    (step,) = step_timings(tmp_path, tmp_path / "model.onnx", steps=1, batches=1)
    assert step[0] == Timing("forward", "Relu", "relu", "CPUExecutionProvider", 7)
    assert [timing.us for timing in step] == [7, 3, 10]
