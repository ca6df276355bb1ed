"""Events of ONNX Runtime's profiler as timings, and their medians."""

from __future__ import annotations

from typing import Any

from workbench.ort.graph.profiles import runs_of
from workbench.run_folder.operator_timing import Timing, median_times


def timing(op: str, us: float, part: Any = "forward") -> Timing:
    return Timing(part, op, "", "PyTorch", us)


def test_the_median_is_of_whole_steps() -> None:
    steps = [[timing("a", 1), timing("a", 2)], [timing("a", 10), timing("a", 20)], [timing("a", 4)]]
    (time,) = median_times(steps)
    assert (time.us, time.calls) == (4, 2)


def test_an_operator_that_did_not_run_took_no_time() -> None:
    (time,) = median_times([[timing("a", 5)], [], []])
    assert (time.us, time.calls) == (0, 0)


def test_the_parts_of_a_step_are_kept_apart_and_the_longest_comes_first() -> None:
    times = median_times([[timing("a", 1), timing("a", 7, "backward"), timing("b", 3)]])
    assert [(time.op, time.part, time.us) for time in times] == [
        ("a", "backward", 7),
        ("b", "forward", 3),
        ("a", "forward", 1),
    ]


def event(name: str, ts: int, dur: int, op: str = "") -> dict[str, Any]:
    args = {"op_name": op, "provider": "CPUExecutionProvider"}
    return {"cat": "Node", "name": name, "ts": ts, "dur": dur, "args": args}


def test_the_nodes_within_a_loop_count_for_the_loop() -> None:
    events = [
        event("SequentialExecutor::Execute", 10, 50),
        event("SequentialExecutor::Execute", 21, 20),
        event("a_kernel_time", 12, 5, "Add"),
        event("loop_kernel_time", 20, 30, "Loop"),
        event("b_kernel_time", 22, 5, "Mul"),
        event("b_kernel_time", 28, 5, "Mul"),
        event("a_fence_after", 17, 0, "Add"),
        event("SequentialExecutor::Execute", 70, 10),
        event("a_kernel_time", 71, 9, "Add"),
    ]
    first, second = runs_of(events)
    assert [(node.op, node.node, node.us) for node in first.nodes] == [
        ("Add", "a", 5),
        ("Loop", "loop", 30),
    ]
    assert first.between("forward").us == 50 - 35
    assert [node.us for node in second.nodes] == [9]
