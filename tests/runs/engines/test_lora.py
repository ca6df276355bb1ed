"""A run with LoRA of a model from an ONNX file: record, exports, resumption, use as a base."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file

from tests.plain_onnxruntime.environment import plain_onnxruntime
from workbench.artifacts import Artifacts
from workbench.check import check
from workbench.data import Dataset
from workbench.errors import ConfigError, ModelError, RunFolderError
from workbench.load import load_dataset, load_model
from workbench.models import load_saved
from workbench.runs import Run, load_run, resume, train

RANDOM = np.random.default_rng(0)
WEIGHTS = {
    "hidden": (RANDOM.normal(size=(64, 24)) / 8).astype(np.float32),
    "head": (RANDOM.normal(size=(10, 24)) / 5).astype(np.float32),
    "bias": np.zeros(10, np.float32),
}
LORA = {"rank": 3, "alpha": 6}


def write_model(path: Path, classes: int = 10) -> Path:
    """One layer as MatMul, (inputs, outputs), and one as Gemm, (outputs, inputs)."""
    node = helper.make_node
    weights = {**WEIGHTS, "head": WEIGHTS["head"][:classes], "bias": WEIGHTS["bias"][:classes]}
    graph = helper.make_graph(
        [
            node("Flatten", ["image"], ["flat"], "flatten"),
            node("MatMul", ["flat", "hidden"], ["product"], "product"),
            node("Relu", ["product"], ["positive"], "positive"),
            node("Gemm", ["positive", "head", "bias"], ["logits"], "logits", transB=1),
        ],
        "mlp",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", classes])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


def logits(weights: dict[str, np.ndarray], images: np.ndarray) -> np.ndarray:
    """The model in numpy, from a run's weights: adapters beside the layers, not merged."""
    scale = LORA["alpha"] / LORA["rank"]
    flat = images.reshape(len(images), -1).astype(np.float64)

    def adapted(x: np.ndarray, layer: str) -> np.ndarray:
        a, b = (weights.get(f"{layer}.lora_{each}.weight") for each in "AB")
        return np.zeros(()) if a is None or b is None else scale * (x @ a.T) @ b.T

    hidden = np.maximum(flat @ weights["hidden"] + adapted(flat, "hidden"), 0)
    return hidden @ weights["head"].T + weights["bias"] + adapted(hidden, "head")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, digits: Dataset) -> Run:
    """Trained on device: the adapters and the bias."""
    folder = tmp_path_factory.mktemp("lora")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(folder / "home"))
        model = load_model(write_model(folder / "mlp.onnx"))
        settings = {"steps": 40, "learning_rate": 1e-2, "threads": 1, "evaluate": False}
        started = train(model, digits, lora=LORA, requires_grad=("bias",), **settings)
        return load_run(started.wait().folder.path)


@pytest.fixture
def images(digits: Dataset) -> np.ndarray:
    assert digits.test is not None
    return next(iter(digits.test.in_order(16))).inputs[0]


def test_the_record_and_the_artifacts_tell_of_lora(run: Run) -> None:
    assert run.spec["config"]["lora"] == {**LORA, "alpha": 6.0, "targets": ["*"], "seed": 0}
    artifacts = Artifacts.load(run.folder.artifacts_path)
    assert artifacts.trainable_count == 10 + 3 * (64 + 24) + 3 * (24 + 10)
    assert artifacts.frozen_count == 64 * 24 + 24 * 10
    assert "376 of 2,152 elements trained" in repr(artifacts)


def test_base_weights_are_frozen_and_adapters_trained(run: Run) -> None:
    weights = run.weights()
    assert all(np.array_equal(weights[name], WEIGHTS[name]) for name in ("hidden", "head"))
    assert weights["bias"].any()
    adapters = [name for name in weights if ".lora_" in name]
    assert len(adapters) == 4
    assert all(weights[name].any() for name in adapters)
    history = run.history["loss"]
    assert history[-5:].mean() < history[:5].mean() - 0.5


def test_a_merged_export_is_the_plain_graph(run: Run, images: np.ndarray, tmp_path: Path) -> None:
    path = run.export(tmp_path / "merged.onnx")
    exported = onnx.load(path)
    assert [node.op_type for node in exported.graph.node] == ["Flatten", "MatMul", "Relu", "Gemm"]
    assert {tensor.name for tensor in exported.graph.initializer} == WEIGHTS.keys()
    (found,) = plain_onnxruntime().run(path, {"image": images}, tmp_path).values()
    worst = float(np.abs(found - logits(run.weights(), images)).max())
    assert worst <= 1e-5, f"the merged model differs from weights and adapters by {worst}"


def test_onnxruntime_of_today_loads_the_adapters(
    run: Run, images: np.ndarray, tmp_path: Path
) -> None:
    python = plain_onnxruntime().python
    run.export(tmp_path / "open.onnx", merge_lora=False)
    run.export(tmp_path / "tuned.onnx_adapter")
    np.save(tmp_path / "images.npy", images)
    program = Path(__file__).with_name("run_adapter.py")
    environment = {"PATH": os.environ["PATH"]}
    subprocess.run([python, "-P", program, tmp_path], check=True, env=environment, timeout=60)
    weights = run.weights()
    base = {name: value for name, value in weights.items() if ".lora_" not in name}
    for name, expected in (("adapted", logits(weights, images)), ("base", logits(base, images))):
        worst = float(np.abs(np.load(tmp_path / f"{name}.npy") - expected).max())
        assert worst <= 1e-5, f"{name} outputs differ by {worst}"


def test_a_run_with_lora_is_resumed(run: Run) -> None:
    losses = len(run.history)
    resumed = resume(run, steps=45).wait()
    assert resumed.status == "completed"
    assert len(resumed.history) == losses + 5
    assert np.array_equal(resumed.weights()["hidden"], WEIGHTS["hidden"])


def test_a_run_with_lora_is_a_base(run: Run, digits: Dataset, images: np.ndarray) -> None:
    """Its adapters are merged into the initial weights of the next run."""
    model = load_model(run.folder.model_path / "model.onnx")
    started = train(model, digits, base=run, engine="fake", steps=1).wait()
    found = load_saved(started.folder.model_path).weights()
    worst = float(np.abs(logits(found, images) - logits(run.weights(), images)).max())
    assert worst <= 1e-5, f"the base's outputs differ by {worst}"
    assert run.checkpoint is not None
    step = int(run.checkpoint.name.removeprefix("step-"))
    assert started.spec["base"] == {"run": run.id, "step": step, "except": []}


def test_check_counts_the_trained_parameters(tmp_path: Path) -> None:
    path = write_model(tmp_path / "mlp.onnx")
    checked = check(path, lora=LORA, requires_grad=("bias",))
    assert checked.ok
    assert "Trainable parameters: 376 of 2,152 elements." in str(checked)
    assert check(path).to_dict()["frozen_count"] == 0


@pytest.mark.parametrize("suffix", [".safetensors", ".onnx"])
def test_a_file_is_a_base(suffix: str, digits: Dataset, tmp_path: Path) -> None:
    """Of a model with more classes: the head begins with its own weights."""
    base = tmp_path / f"base{suffix}"
    if suffix == ".onnx":
        write_model(base)
    else:
        save_file(WEIGHTS, base)
    model = load_model(write_model(tmp_path / "small.onnx", classes=9))
    excepted = ("head", "bias")
    moved = {"hidden": np.zeros((64, 24), np.float32)}
    blank = model.with_weights({**model.weights(), **moved}, "zeros")
    few = digits_below(digits, 9)
    started = train(blank, few, base=base, base_except=excepted, engine="fake", steps=1).wait()
    found = load_saved(started.folder.model_path).weights()
    assert np.array_equal(found["hidden"], WEIGHTS["hidden"])
    assert np.array_equal(found["head"], WEIGHTS["head"][:9])
    assert started.spec["base"]["file"] == str(base)
    assert started.spec["base"]["except"] == ["head", "bias"]


def digits_below(digits: Dataset, classes: int) -> Dataset:
    batch = next(iter(digits.train.in_order(len(digits.train))))
    kept = batch.target < classes
    return load_dataset(batch.inputs[0][kept], batch.target[kept])


@pytest.mark.fault
def test_weights_that_do_not_fit_are_listed(tmp_path: Path, digits: Dataset) -> None:
    model = load_model(write_model(tmp_path / "small.onnx", classes=9))
    base = tmp_path / "base.safetensors"
    others = {name: value for name, value in WEIGHTS.items() if name != "hidden"}
    save_file({**others, "stray": np.zeros(2, np.float32)}, base)
    with pytest.raises(ModelError) as caught:
        train(model, digits, base=base)
    assert (
        "it lacks 'hidden'; it has unknown 'stray'; of another shape are 'head' [10, 24] (expected "
        "[9, 24]), 'bias' [10] (expected [9])"
    ) in str(caught.value)
    save_file({**WEIGHTS, "hidden": np.full((64, 24), np.nan, np.float32)}, base)
    with pytest.raises(ModelError, match="contains NaN or infinity in parameter 'hidden'"):
        train(load_model(write_model(tmp_path / "mlp.onnx")), digits, base=base)
    save_file({**WEIGHTS, "hidden": WEIGHTS["hidden"].astype(np.int64)}, base)
    with pytest.raises(ModelError, match=r"of another type are 'hidden' int64 \(expected float32"):
        train(load_model(write_model(tmp_path / "mlp.onnx")), digits, base=base)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"base": "weights.pt"}, r"base='weights\.pt': give a run, .* this may hold pickles"),
        ({"base_except": 3}, "base_except=3: give names or patterns"),
        ({"base_except": ("head", 3)}, r"base_except=\('head', 3\): give names or patterns"),
        ({"base_except": ("head",)}, r"base_except=\('head',\) requires base="),
        (
            {"lora": {"rank": 11, "targets": ("head",)}},
            r"lora\.rank=11 is larger than a dimension of 'head'",
        ),
    ],
)
def test_wrong_arguments(
    settings: dict[str, object], sentence: str, tmp_path: Path, digits: Dataset
) -> None:
    model = load_model(write_model(tmp_path / "mlp.onnx"))
    with pytest.raises((ConfigError, ModelError), match=sentence):
        train(model, digits, **settings).wait()  # type: ignore[arg-type]


@pytest.mark.fault
def test_there_are_no_adapters_without_lora(tmp_path: Path, digits: Dataset) -> None:
    model = load_model(write_model(tmp_path / "mlp.onnx"))
    run = train(model, digits, engine="fake", steps=1).wait()
    with pytest.raises(ModelError, match="was trained without LoRA, so it has no adapters"):
        run.export(tmp_path / "a.onnx_adapter")
    for write in (run.export, run.quantize):
        with pytest.raises(ModelError, match="3 is not the path of a file to write"):
            write(3)  # type: ignore[operator]


@pytest.mark.fault
@pytest.mark.parametrize(
    "adapted",
    [None, 3, ["head"], [["head", 24, 10, False, [], []]], [["hidden", 24, 64, True, [], []]]],
)
def test_a_record_of_other_adapted_weights_is_refused(
    run: Run, adapted: object, tmp_path: Path
) -> None:
    """Nothing is merged in another orientation, or left out."""
    folder = tmp_path / "run"
    shutil.copytree(run.folder.path, folder)
    spec = json.loads((folder / "spec.json").read_text())
    (folder / "spec.json").write_text(json.dumps({**spec, "adapted_weights": adapted}))
    with pytest.raises((RunFolderError, ModelError)) as caught:
        load_run(folder).export(tmp_path / "a.onnx")
    assert "adapt" in str(caught.value) or "does not fit" in str(caught.value)
    assert not (tmp_path / "a.onnx").exists()
