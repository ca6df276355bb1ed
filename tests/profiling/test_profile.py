"""`wb.profile`: the operators of a step, by ONNX Runtime's profiler and by PyTorch's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.straight_through import Quantized
from workbench.data import Dataset
from workbench.errors import ConfigError, EngineError
from workbench.load import load_model
from workbench.profiling import EngineProfile, Profile, profile
from workbench.profiling.engine_profile import COLUMNS, by_operator, wall_sentence
from workbench.run_folder.operator_timing import PASSES, OperatorTime

STEPS = 4

NATIVE = "CPUExecutionProvider"


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="module")
def found(digits: Dataset, temporary: Path) -> Iterator[Profile]:
    """One profile, shared by the tests that only look."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr("tempfile.tempdir", None)
        # Whether the extensions were built here makes no difference then.
        options = {"pytorch_kernels": False, "device_kernels": False}
        yield profile("digits-mlp", digits, steps=STEPS, threads=1, ortmodule=options)


def calls(profile: EngineProfile, part: str, provider: str) -> Counter[str]:
    """Runs of each operator in one part of a step."""
    counted: Counter[str] = Counter()
    for time in profile.times:
        if (time.part, time.provider) == (part, provider):
            counted[time.op] += time.calls
    return counted


def test_onnx_runtimes_nodes_are_those_of_the_graph(found: Profile) -> None:
    """Three Linear and two ReLU, fused forward; each runs once in each step, in its pass."""
    ortmodule, _ = found.engines
    forward, backward = (calls(ortmodule, part, NATIVE) for part in ("forward", "backward"))
    assert (forward["FusedGemm"], forward["Gemm"]) == (2, 1)
    assert (backward["Gemm"], backward["ReduceSum"]) == (5, 3)
    assert (forward + backward).total() == 18
    nodes = [time.node for time in ortmodule.times if time.provider == NATIVE]
    assert len(set(nodes)) == 18


def test_pytorchs_operators_are_those_of_the_same_step(found: Profile) -> None:
    _, pytorch = found.engines
    assert calls(pytorch, "forward", "PyTorch")["aten::addmm"] == 3
    assert calls(pytorch, "backward", "PyTorch")["aten::mm"] == 5
    assert calls(pytorch, "optimizer", "PyTorch")["aten::_fused_adamw_"] == 1


def test_beside_onnx_runtimes_passes_pytorch_runs_loss_and_optimizer(found: Profile) -> None:
    ortmodule, _ = found.engines
    assert calls(ortmodule, "forward", "PyTorch")["aten::_log_softmax"] == 1
    assert calls(ortmodule, "optimizer", "PyTorch")["aten::_fused_adamw_"] == 1
    of_both_passes = {"aten::addmm", "aten::mm", "aten::relu"}
    assert not of_both_passes & {time.op for time in ortmodule.times}


def test_the_numbers_belong_together(found: Profile) -> None:
    table = found.table()
    assert list(table.columns) == list(COLUMNS)
    assert (table["us"] > 0).any()
    parts = table["forward_us"] + table["backward_us"] + table["optimizer_us"]
    assert (parts - table["us"]).abs().max() < 1e-6
    for each in found.engines:
        own = found.table(each.engine)
        assert own["us"].sum() / 1000 == pytest.approx(each.operators_ms * each.correction)
        assert own["us"].is_monotonic_decreasing
        share = own["us"] / max(1000 * each.step_ms, own["us"].sum())
        assert (own["share"] - share).abs().max() < 1e-9
        assert each.wall_ms > 0
    assert len(found.frame) == sum(len(each.times) for each in found.engines)


def measured(
    operators_ms: float, step_ms: float, profiled_ms: float | None = None
) -> EngineProfile:
    us = 1000 * operators_ms
    times = (
        OperatorTime("forward", "Gemm", "a", NATIVE, 2, 0.75 * us),
        OperatorTime("backward", "Gemm", "b", NATIVE, 1, 0.25 * us),
    )
    slowed = max(step_ms, 1.1 * operators_ms) if profiled_ms is None else profiled_ms
    return EngineProfile("ortmodule", step_ms, slowed, times)


@pytest.mark.parametrize("operators_ms", [97.0, 110.0])
def test_times_that_fit_the_step_stand_as_they_are(operators_ms: float) -> None:
    found = measured(operators_ms, 97.0)
    assert found.times == found.measured
    assert wall_sentence(found).endswith("ms in operators.")


@pytest.mark.parametrize(("operators_ms", "other"), [(10.0, "87.00 ms"), (50.0, "47.00 ms")])
def test_what_is_outside_of_operators_is_said(operators_ms: float, other: str) -> None:
    found = measured(operators_ms, 97.0)
    assert found.times == found.measured
    assert wall_sentence(found).endswith(f"The other {other} of the step are outside of operators.")


def test_steps_that_take_longer_without_a_profiler_were_disturbed() -> None:
    """A profiler only adds to a step, so that the shorter one is the step."""
    found = measured(45.0, 148.0, profiled_ms=27.0)
    assert found.correction == pytest.approx(27 / 45)
    assert "1.7 times the step" in wall_sentence(found)
    assert "Other programs slowed the steps without the profiler down." in wall_sentence(found)
    assert [row["share"] for row in by_operator(found)] == pytest.approx([1.0])


def test_times_that_exceed_the_step_are_scaled_to_it_with_a_notice() -> None:
    found = measured(146.0, 97.0)
    assert [time.us for time in found.times] == pytest.approx([72_750, 24_250])
    assert [row["share"] for row in by_operator(found)] == pytest.approx([1.0])
    assert "1.5 times the step" in wall_sentence(found)
    assert "so each time shown is divided by" in wall_sentence(found)
    result = Profile("net", 4, 1, 2, "here", (found,))
    assert "so each time shown is divided by" in str(result)
    assert "1.5 times the step: each is divided by it" in result.plot().axes[0].get_title(
        loc="left"
    )
    assert result.to_dict()["engines"][0]["correction"] == pytest.approx(97 / 146)


def test_times_of_twice_the_step_are_not_to_be_trusted() -> None:
    found = measured(215.0, 97.0)
    assert "2.2 times the step" in wall_sentence(found)
    assert "Do not trust them; profile again while the machine is quiet." in wall_sentence(found)
    result = Profile("net", 4, 1, 2, "here", (found,))
    assert "Gemm" not in str(result), "what is not to be trusted is not listed"
    assert "do not trust" in result.plot().axes[0].get_title(loc="left")


def test_people_and_programs_read_it(found: Profile) -> None:
    assert "ortmodule: " in repr(found)
    assert "medians over the faster half of 4 steps after the warm-up, 1 thread;" in repr(found)
    assert "<table" in found._repr_html_()
    record = json.loads(json.dumps(found.to_dict()))
    assert [each["engine"] for each in record["engines"]] == ["ortmodule", "pytorch"]
    assert record["engines"][0]["operators"][0].keys() == COLUMNS.keys()


def test_both_engines_are_drawn_on_one_scale(found: Profile) -> None:
    figure = found.plot()
    left, right = figure.axes
    assert left.get_title(loc="left").startswith("ortmodule: ")
    assert right.get_title(loc="left").startswith("pytorch: ")
    assert left.get_xlim() == right.get_xlim()
    names = [label.get_text() for label in right.get_yticklabels()]
    assert "aten::addmm (3)" in names
    assert names[-1].endswith(" others")


def test_no_file_is_left(found: Profile, temporary: Path) -> None:
    assert found.engines
    # torch makes a folder of its own there.
    left = [path for path in temporary.rglob("*") if "torchinductor" not in path.name]
    assert left == []


@pytest.mark.fault
def test_wrong_settings_are_refused_at_once(digits: Dataset) -> None:
    with pytest.raises(ConfigError) as caught:
        profile("digits-mlp", digits, "pytorch-compile", steps=0)
    assert len(caught.value.problems) == 2
    assert "pytorch, ondevice, ortmodule" in str(caught.value)
    with pytest.raises(ConfigError, match="Did you mean 'batch_size'"):
        profile("digits-mlp", digits, batchsize=3)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memory_limit_bytes", 1),
        ("evaluate_every", 2),
        ("early_stopping", 2),
        ("checkpoint_every", 2),
        ("checkpoint_every_s", 2.0),
        ("lr_schedule", "cosine"),
        ("lr_warmup_steps", 2),
        ("lr_power", 2.0),
        ("layer_statistics_every", 2),
    ],
)
def test_settings_that_a_profile_has_no_use_for_are_refused(
    name: str, value: object, digits: Dataset
) -> None:
    with pytest.raises(ConfigError, match=f"{name}={value!r}: has no effect in a profile"):
        profile("digits-mlp", digits, **{name: value})  # type: ignore[arg-type]


@pytest.mark.sweep
def test_every_piece_of_a_graph_is_timed_and_the_function_between_them(digits: Dataset) -> None:
    """The sessions of pieces are loaded within a second and must not share a profile."""
    model = load_model(Quantized(1), example_inputs=(torch.zeros(4, 1, 8, 8),))
    ortmodule, _ = profile(model, digits, steps=2, threads=1).engines
    assert calls(ortmodule, "forward", NATIVE)["Gemm"] == 2
    assert calls(ortmodule, "backward", NATIVE)["Gemm"] == 3
    assert calls(ortmodule, "forward", "PyTorch")["aten::sign"] == 1


def test_on_device_a_model_without_a_module_is_profiled_alone(
    digits: Dataset, onnx_model: Path
) -> None:
    found = profile(onnx_model, digits, "ondevice", steps=2, threads=1, device_kernels=False)
    (ondevice,) = found.engines
    forward, backward, optimizer = (calls(ondevice, part, NATIVE) for part in PASSES)
    assert (forward["Gemm"] + forward["FusedGemm"], forward["SoftmaxCrossEntropyLoss"]) == (3, 1)
    assert "Greater" not in forward
    assert (backward["Gemm"], backward["Greater"]) == (5, 2)  # two gradients of ReLU
    assert backward["SoftmaxCrossEntropyLossGrad"] == 1
    assert optimizer["AdamWOptimizer"] == 1
    assert {time.provider for time in ondevice.times} == {NATIVE, "ONNX Runtime"}
    assert len(found.plot().axes) == 1


@pytest.mark.sweep
def test_a_step_has_all_the_batches_whose_gradients_it_averages(digits: Dataset) -> None:
    settings = {"steps": 2, "threads": 1, "gradient_accumulation": 3}
    ondevice, pytorch = profile("digits-mlp", digits, "ondevice", **settings).engines  # type: ignore[arg-type]
    forward, backward, optimizer = (calls(ondevice, part, NATIVE) for part in PASSES)
    assert forward["Gemm"] + forward["FusedGemm"] == 3 * 3
    assert backward["Gemm"] == 3 * 5
    assert optimizer["AdamWOptimizer"] == 1
    assert calls(pytorch, "forward", "PyTorch")["aten::addmm"] == 3 * 3
    assert calls(pytorch, "optimizer", "PyTorch")["aten::_fused_adamw_"] == 1


@pytest.mark.fault
def test_ortmodule_needs_a_module(digits: Dataset, onnx_model: Path) -> None:
    with pytest.raises(EngineError, match=r"needs an nn\.Module"):
        profile(onnx_model, digits)


@pytest.fixture(scope="module")
def onnx_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return load_model("digits-mlp").export(tmp_path_factory.mktemp("model") / "model.onnx")
