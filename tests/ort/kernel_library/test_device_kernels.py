"""The workbench's kernels: equal to PyTorch's, refused where wrong, left out where not wanted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file, save_file

import workbench as wb
from tests.ort.kernel_library import attention_probe, cross_entropy_probe, window_probe
from tests.ort.kernel_library.dropping_network import LENGTH, DroppingNetwork
from tests.ort.kernel_library.gated_network import gated_network
from tests.ort.kernel_library.kernels_probe import WORDS
from workbench.artifacts import Artifacts, open_bundle
from workbench.artifacts.manifest_record import KERNELS_MODEL
from workbench.errors import EngineError
from workbench.extension_build import build_extensions as building
from workbench.extensions.native_extension import DEVICE_KERNELS, native_extension, sources
from workbench.ort.graph.kernels.device_kernels import DOMAIN
from workbench.ort.kernel_library.load import CHECK_VALUES

TOLERANCE = 3e-6
"""Over the largest magnitude of a result, at least 1."""
CHECK = "from workbench.ort.kernel_library.load import device_kernels; print(*device_kernels())"


def transformer() -> onnx.ModelProto:
    """A layer with most operators that have a kernel, on 24 channels."""
    drawn = np.random.default_rng(0)
    nodes = [
        ("Gather", ["embedding", "tokens"], ["x"], {}),
        ("LayerNormalization", ["x", "scale", "shift"], ["n"], {"axis": -1}),
        ("MatMul", ["n", "up"], ["a"], {}),
        ("Add", ["a", "up_bias"], ["b"], {}),
        ("Gelu", ["b"], ["c"], {}),
        ("MatMul", ["c", "down"], ["d"], {}),
        ("Gelu", ["d"], ["e"], {}),
        ("Transpose", ["e"], ["t"], {"perm": [0, 2, 1]}),
        ("MatMul", ["n", "t"], ["scores"], {}),
        ("Softmax", ["scores"], ["p"], {"axis": -1}),
        ("MatMul", ["p", "e"], ["mixed"], {}),
        ("MatMul", ["mixed", "head"], ["h"], {}),
        ("Add", ["h", "head_bias"], ["logits"], {}),
    ]
    shapes = {
        **{"embedding": (WORDS, 24), "scale": (24,), "shift": (24,), "up": (24, 40)},
        **{"up_bias": (40,), "down": (40, 24), "head": (24, WORDS), "head_bias": (WORDS,)},
    }
    graph = helper.make_graph(
        [
            helper.make_node(op, given, made, made[0], **attributes)
            for op, given, made, attributes in nodes
        ],
        "transformer",
        [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", 5])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 5, WORDS])],
        [
            numpy_helper.from_array(drawn.normal(0, 0.3, shape).astype(np.float32), name)
            for name, shape in shapes.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def pictures() -> onnx.ModelProto:
    """Three convolutions, of which our kernels have one way of the first and both of the second."""
    drawn = np.random.default_rng(0)
    border = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    pairs = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        ("Conv", ["picture", "first", "first_bias"], ["a"], border),
        ("Relu", ["a"], ["b"], {}),
        ("MaxPool", ["b"], ["c"], pairs),
        ("Conv", ["c", "second"], ["d"], {**border, "strides": [2, 1]}),
        ("Relu", ["d"], ["e"], {}),
        ("Conv", ["e", "each", "each_bias"], ["f"], {**border, "group": 16}),
        ("MaxPool", ["f"], ["g"], pairs),
        ("Flatten", ["g"], ["h"], {}),
        ("Gemm", ["h", "head"], ["scores"], {}),
    ]
    shapes = {
        **{"first": (8, 1, 3, 3), "first_bias": (8,), "second": (16, 8, 3, 3)},
        **{"each": (16, 1, 3, 3), "each_bias": (16,), "head": (32, WORDS)},
    }
    graph = helper.make_graph(
        [
            helper.make_node(op, given, made, made[0], **attributes)
            for op, given, made, attributes in nodes
        ],
        "pictures",
        [helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["batch", 1, 9, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", WORDS])],
        [
            numpy_helper.from_array(drawn.normal(0, 0.3, shape).astype(np.float32), name)
            for name, shape in shapes.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with artifacts of `transformer`, and in it one with those of each other network."""
    folder = tmp_path_factory.mktemp("kernels")
    others = (folder / "pictures", pictures()), (folder / "gated", gated_network(WORDS))
    for place, built in ((folder, transformer()), *others):
        place.mkdir(exist_ok=True)
        onnx.save(built, place / "network.onnx")
        model = wb.load_model(place / "network.onnx")
        # A sum with a bias, after a product of the rows with labels alone, is one node with it.
        sparse = place.name != "gated"
        wb.generate_artifacts(
            model, loss="cross_entropy", directory=place / "artifacts", label_sparsity=sparse
        )
    tokens = np.zeros((2, LENGTH), np.int64)
    dropping = wb.load_model(DroppingNetwork(WORDS), example_inputs=[tokens])
    wb.generate_artifacts(
        dropping, loss="cross_entropy", directory=folder / "dropping" / "artifacts"
    )
    return folder


@pytest.fixture(scope="module")
def answers(work: Path, extension_cache: Path) -> dict[str, Any]:
    """The answers of the probe."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.ort.kernel_library.kernels_probe", str(work)],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "XDG_CACHE_HOME": str(extension_cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads((work / "answers.json").read_text()))


def test_each_kernel_equals_pytorch(answers: dict[str, Any]) -> None:
    worst = {
        operator: max(sizes[operator] for sizes in answers["parity"].values())
        for operator in answers["parity"]["1"]
    }
    print(worst)
    assert len(worst) == 23
    assert max(worst.values()) < TOLERANCE, worst


def test_the_tanh_form_of_gelu_has_limits(answers: dict[str, Any]) -> None:
    values, slopes = answers["special tanh GELU"]
    assert values[:2] == pytest.approx([0, 3e38])
    assert slopes[:2] == [0, 1]
    assert np.isnan([values[2], slopes[2]]).all()
    assert [values[3], slopes[3]] == [0, 0.5]


def test_the_gradient_of_gelu_has_limits(answers: dict[str, Any]) -> None:
    lowest, highest, nan, zero = answers["special GELU gradient"]
    assert (lowest, highest) == (0, 1)
    assert zero == pytest.approx(0.5, abs=1e-6)
    assert np.isnan(nan)


def test_rows_may_be_long(answers: dict[str, Any]) -> None:
    """A float32 near 10,000 is known to 5e-4, of a deviation of 1; of sums in float32 it was 1."""
    found = answers["long rows"]
    assert found["layer"] <= 1e-3
    assert found["RMS"] <= 1e-6


def test_attention_equals_pytorch(answers: dict[str, Any]) -> None:
    worst = answers["attention"]
    print(worst)
    assert len(worst) == len(attention_probe.CASES)
    assert max(worst.values()) < TOLERANCE, worst


def test_attention_with_dropout_trains_as_its_seed_says(answers: dict[str, Any]) -> None:
    """Of two ways to write it in a module, without probabilities or masks in memory."""
    answer = answers["dropping"]
    assert answer["kernels"]["Attention"] == {"the workbench": 2}
    assert answer["kernels"]["AttentionGradient"] == {"the workbench": 2}
    assert "Dropout" not in answer["kernels"]
    whole = answer["whole"]
    assert answer["again"] == whole
    assert answer["resumed"] == whole
    assert answer["one thread"] == pytest.approx(whole, abs=1e-5)
    for other in ("other seed", "without kernels"):
        assert max(abs(np.subtract(answer[other], whole))) > 1e-3, other


def test_its_gradient_has_the_mask_of_the_forward_pass(answers: dict[str, Any]) -> None:
    answer = answers["dropping"]
    assert answer["slope"] == pytest.approx(answer["squared"], rel=2e-3)
    assert abs(answer["other loss"]) > 1e-3, "another seed drops the same"


def test_cross_entropy_equals_pytorch(answers: dict[str, Any]) -> None:
    worst = answers["cross entropy"]
    print(worst)
    assert len(worst) == len(cross_entropy_probe.CASES)
    assert max(worst.values()) < TOLERANCE, worst
    # As ONNX Runtime has it, where PyTorch's loss is NaN.
    assert answers["all ignored"] == [0, [[0] * 4] * 3]


def test_convolution_equals_pytorch(answers: dict[str, Any]) -> None:
    worst = answers["convolution"]
    print(worst)
    assert len(worst) == len(window_probe.CONVOLUTIONS)
    assert max(worst.values()) < TOLERANCE, worst
    assert answers["no picture"] == ["empty", [8, 3, 3, 3], [8]]


def test_pooling_and_relu_equal_pytorch(answers: dict[str, Any]) -> None:
    worst = answers["pooling"]
    print(worst)
    assert len(worst) == 2 * len(window_probe.POOLINGS)
    assert max(worst.values()) < TOLERANCE, worst
    assert answers["special ReLU"] == [np.inf, 0, 0, np.inf]


def test_a_step_is_the_same_with_and_without_them(answers: dict[str, Any]) -> None:
    on, off = answers["on"], answers["off"]
    assert set(on["kernels"]) == {
        *("BiasGelu", "BiasGeluGradient", "ColumnSum", "EmbeddingGradient", "Gelu"),
        *("GeluGradient", "LayerNormalization", "LayerNormalizationGradient"),
        *("Attention", "AttentionGradient", "CrossEntropy", "CrossEntropyGradient"),
    }
    assert off["kernels"] == {}
    largest = max(np.abs(value).max() for value in off["gradients"].values())
    for name, gradient in off["gradients"].items():
        difference = np.abs(np.array(on["gradients"][name]) - gradient).max() / largest
        assert difference < TOLERANCE, (name, difference)
    assert on["losses"] != off["losses"], "the kernels did not run"
    assert np.allclose(on["losses"], off["losses"], rtol=0, atol=2e-5)


def test_a_step_on_pictures_is_the_same_with_and_without_them(answers: dict[str, Any]) -> None:
    on, off = answers["pictures on"], answers["pictures off"]
    counts = {operator: sum(of.values()) for operator, of in on["kernels"].items()}
    assert counts == {
        **{"Convolution": 1, "ConvolutionGradient": 1, "ConvolutionWeightGradient": 1},
        **{"MaxPool": 2, "MaxPoolGradient": 2, "ReluGradient": 1},
        **{"CrossEntropy": 1, "CrossEntropyGradient": 1},
    }
    largest = max(np.abs(value).max() for value in off["gradients"].values())
    for name, gradient in off["gradients"].items():
        difference = np.abs(np.array(on["gradients"][name]) - gradient).max() / largest
        assert difference < TOLERANCE, (name, difference)
    assert np.allclose(on["losses"], off["losses"], rtol=0, atol=2e-5)
    assert on["losses"] == answers["pictures again"]["losses"], "another run, other bits"


def test_a_gated_step_is_the_same_with_and_without_them(answers: dict[str, Any]) -> None:
    on, off = answers["gated on"], answers["gated off"]
    counts = {operator: sum(of.values()) for operator, of in on["kernels"].items()}
    # Those of the forward pass whose results the backward pass computes again count twice.
    assert counts == {
        **{"RMSNormalization": 4 + 3, "RMSNormalizationGradient": 4},
        **{"GatedSilu": 1 + 1, "GatedSiluGradient": 1, "BiasSilu": 1, "BiasSiluGradient": 1},
        **{"EmbeddingGradient": 1, "CrossEntropy": 1, "CrossEntropyGradient": 1},
    }
    largest = max(np.abs(value).max() for value in off["gradients"].values())
    for name, gradient in off["gradients"].items():
        difference = np.abs(np.array(on["gradients"][name]) - gradient).max() / largest
        assert difference < TOLERANCE, (name, difference)
    assert np.allclose(on["losses"], off["losses"], rtol=0, atol=2e-5)
    far_below, far_above, nan, zero = answers["special SiLU"]
    assert (far_below, zero) == (0, 0)
    assert far_above == pytest.approx(3e38)
    assert np.isnan(nan)


def test_the_record_says_which_kernels_ran(answers: dict[str, Any]) -> None:
    assert answers["on"]["state"] == {
        "option": "device_kernels",
        "state": "on",
        "reason": "14 nodes of 12 operators",
    }
    assert answers["on"]["kernels"]["Gelu"] == {"the workbench": 1}
    assert answers["off"]["state"]["state"] == "off"
    assert answers["loaded"] == []


@pytest.mark.fault
def test_inputs_that_do_not_fit_are_errors(answers: dict[str, Any]) -> None:
    shapes, scale, index, gate, weight = answers["refused"]
    assert "dY and X differ in shape" in shapes
    assert "X, scale and bias do not fit" in scale
    assert "an index is not in the table" in index
    assert "gate and X differ in shape" in gate
    assert "X and scale do not fit" in weight
    heads, mask = answers["refused attention"]
    assert "Q, K and V do not fit" in heads
    assert "the mask does not fit the scores" in mask
    assert "a label is not a class" in answers["refused label"]
    weights, gradient, window, pooled, missing = answers["refused window"]
    assert "X and W do not fit" in weights
    assert "dY and X do not fit" in gradient
    assert "the window is larger than the picture" in window
    assert "dY and X do not fit" in pooled
    assert "a window may lie beyond the picture" in missing
    assert answers["special"] == [True, False, False, False, False]
    assert answers["empty"] == [[0, 3], [3]]


def test_portable_artifacts_have_none(work: Path, tmp_path: Path) -> None:
    artifacts = Artifacts.load(work / "artifacts")
    for path in work.rglob("*.onnx"):
        domains = {node.domain for node in onnx.load(path).graph.node}
        assert (DOMAIN in domains) == (path.name == KERNELS_MODEL), path
    opened = open_bundle(artifacts.bundle(tmp_path / "bundle.zip"), tmp_path / "opened")
    assert opened.kernels_model is None
    assert not list(opened.directory.rglob("*kernels*"))


@pytest.fixture
def copied(extension_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the library, copied so that it may be harmed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(extension_cache))
    folder = native_extension(DEVICE_KERNELS).folder
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    target = native_extension(DEVICE_KERNELS).folder
    shutil.copytree(folder, target)
    return target


@pytest.mark.fault
@pytest.mark.parametrize(
    ("harm", "words"),
    [
        ("other results", "The kernel GeluGradient in * computes wrong results"),
        ("torn results", "cannot be loaded"),
        ("results of other kernels", "cannot be loaded: 'GeluGradient.out0'"),
        ("torn", "was changed after it was built"),
    ],
)
def test_a_library_that_computes_wrong_results_is_refused(
    copied: Path, harm: str, words: str
) -> None:
    if harm == "torn":
        library = copied / f"{DEVICE_KERNELS}.so"
        library.write_bytes(library.read_bytes()[:5000])
    elif harm == "torn results":
        values_path = copied / CHECK_VALUES
        values_path.write_bytes(values_path.read_bytes()[:5000])
    else:
        values = load_file(copied / CHECK_VALUES)
        if harm == "other results":
            values["GeluGradient.out0"] *= np.float32(1 + 1e-4)
        else:
            del values["GeluGradient.out0"]
        save_file(values, copied / CHECK_VALUES)
    done = subprocess.run(
        [sys.executable, "-c", CHECK],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    first, _, rest = words.partition("*")
    assert first in done.stdout
    assert rest in done.stdout
    assert done.stdout.startswith("None ")
    assert "workbench build-extensions" in done.stdout


@pytest.mark.sweep
@pytest.mark.fault
def test_a_compiler_that_miscompiles_builds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    wrong = tmp_path / "sources"
    shutil.copytree(sources(DEVICE_KERNELS)[0].parent, wrong)
    gelu = wrong / "gelu.cpp"
    gelu.write_text(gelu.read_text().replace("0.43f", "0.44f"))
    monkeypatch.setattr(building, "sources", lambda _: sorted(wrong.glob("*.cpp")))
    with pytest.raises(EngineError, match=r"The kernel Gelu .* computes wrong results"):
        building.build_extensions(DEVICE_KERNELS)
    assert native_extension(DEVICE_KERNELS).problem


@pytest.mark.fault
def test_a_compiler_that_ignores_nan_compiles_nothing() -> None:
    """Results of the check are finite: it would not find such a library."""
    source = next(each for each in sources(DEVICE_KERNELS) if each.name == "relu.cpp")
    compiler = building.find_compiler()
    assert compiler is not None
    command = [compiler, *building._FLAGS[DEVICE_KERNELS], "-fsyntax-only", str(source)]
    assert subprocess.run(command, check=False).returncode == 0
    done = subprocess.run([*command, "-ffast-math"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "compile them without -ffast-math" in done.stderr


@pytest.mark.sweep
def test_a_processor_without_vectors_of_today_has_them_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Built for the oldest processor of the architecture alone, they compute the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    flags = (*building._FLAGS[DEVICE_KERNELS], "-DFOR_EACH_PROCESSOR=")
    monkeypatch.setitem(building._FLAGS, DEVICE_KERNELS, flags)
    library = building.build_extensions(DEVICE_KERNELS).extension.library
    code = subprocess.run(["objdump", "-d", library], capture_output=True, text=True, check=True)
    assert "xmm" in code.stdout
    assert "ymm" not in code.stdout
