"""ORTModule with PyTorch's kernels and our own in its graph: gradients, replacements, failures.

All of it runs once in a process of its own (kernel_probe.py); the tests read what came out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.answers import ROOT, Answers, probed
from tests.ort.ortmodule.aten.dropped_attention import SWITCHES
from tests.ort.ortmodule.aten.kernel_cases import CASES, GROUPS, WITHOUT_PRODUCTS, group_of
from workbench.ort.ortmodule.aten.operators.choices import CHOICES

PROBE = "tests.ort.ortmodule.aten.kernel_probe"
SWEPT = ("without products", "autocast")


@pytest.fixture(scope="module")
def answers(extension_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    folder = tmp_path_factory.mktemp("kernels")
    return probed(PROBE, folder, XDG_CACHE_HOME=str(extension_cache))


@pytest.fixture(scope="module")
def swept(extension_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    folder = tmp_path_factory.mktemp("kernels")
    return probed(PROBE, folder, *SWEPT, XDG_CACHE_HOME=str(extension_cache))


@pytest.mark.parametrize("switch", ["all", "off"])
@pytest.mark.parametrize("name", list(CASES))
def test_results_and_gradients_are_pytorchs(name: str, switch: str, answers: Answers) -> None:
    difference = answers[group_of(name)]["differences"][switch][name]
    assert difference <= 1e-5, f"largest difference {difference}"


@pytest.mark.parametrize("group", GROUPS)
def test_each_operator_has_the_kernel_that_it_should(group: str, answers: Answers) -> None:
    replaced: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for name, case in CASES.items():
        if group_of(name) == group:
            replaced.update(case.replaced)
            kept.update(case.kept)
    answer = answers[group]
    chosen = answer["chosen"]["all"]
    assert {op: counts["PyTorch"] for op, counts in chosen.items() if "PyTorch" in counts} == {
        op: count for op, count in replaced.items() if count
    }
    # Sums are everywhere, most of them small.
    assert {
        op: counts["ONNX Runtime"]
        for op, counts in chosen.items()
        if "ONNX Runtime" in counts and op not in ("Add", "Sum")
    } == dict(kept)
    assert answer["all"]["state"] == "on"
    assert answer["all"]["reason"] == f"they run {replaced.total()} nodes"


@pytest.mark.sweep
def test_products_can_be_left_to_onnx_runtime(swept: Answers) -> None:
    answer = swept["without products"]
    differences = answer["differences"]["no_products"]
    assert list(differences) == WITHOUT_PRODUCTS
    assert max(differences.values()) <= 1e-5, differences
    replaced = {op for name in WITHOUT_PRODUCTS for op in CASES[name].replaced}
    products = {"Attention", "Linear", "Conv", "ConvGrad"}
    assert products < replaced
    chosen = answer["chosen"]["no_products"]
    by_pytorch = {op for op, counts in chosen.items() if "PyTorch" in counts}
    # What attention is made of, once it is not one kernel.
    assert by_pytorch - {"SoftmaxGrad_13"} == replaced - products - {"SoftmaxGrad_13"}
    assert answer["no_products"]["reason"].endswith("and no product")


@pytest.mark.sweep
def test_a_family_can_be_left_to_another_library(swept: Answers) -> None:
    """Over `pytorch_kernels`, in both directions."""
    answer = swept["without products"]
    differences = answer["differences"]["families"]
    assert max(differences.values()) <= 1e-5, differences
    before, chosen = (
        {op for op, counts in answer["chosen"][switch].items() if "PyTorch" in counts}
        for switch in ("no_products", "families")
    )
    elsewhere = {"Gelu", "GeluGrad", "FastGeluGrad", "GatherGrad"}
    elsewhere |= {"LayerNormalization", "LayerNormalizationGrad"}
    assert before - chosen == before & elsewhere
    assert chosen - before == {"Linear"}


OWN = {
    "conv": {"Convolution", "ConvolutionGradient", "ConvolutionWeightGradient"},
    "max pool": {"MaxPool", "MaxPoolGradient"},
    "linear": {"ColumnSum"},
    "attention": {"Attention", "AttentionGradient"},
    "other": {
        *("Gelu", "GeluGradient", "Silu", "SiluGradient", "GatedSilu", "GatedSiluGradient"),
        *("LayerNormalization", "LayerNormalizationGradient"),
        *("RMSNormalization", "RMSNormalizationGradient", "ReluGradient", "SoftmaxGradient"),
        *("LogProbability", "LogProbabilityGradient", "EmbeddingGradient"),
    },
}
"""Kernels of our own that are in the graph of each group."""


@pytest.mark.parametrize("group", GROUPS)
def test_switched_off_our_own_run_in_their_place(group: str, answers: Answers) -> None:
    answer = answers[group]
    chosen = answer["chosen"]["off"]
    assert not any("PyTorch" in counts for counts in chosen.values())
    own = {op for op, counts in chosen.items() if "the workbench" in counts}
    assert own >= OWN[group]
    assert answer["off"]["state"] == "off"


def test_a_layer_trains_by_our_own_kernels(answers: Answers) -> None:
    """Without stored probabilities, whatever the batch and the length."""
    answer = answers["trained"]
    assert max(answer["differences"]) <= 1e-5, answer["differences"]
    assert answer["pytorch_calls"] == {}
    run = answer["run"]
    assert {"Attention", "AttentionGradient", "LogProbability", "BiasGelu"} <= set(run)
    assert answer["report"] == [
        "on",
        f"they run {sum(run.values())} nodes of {len(run)} operators",
    ]
    assert "SoftmaxGrad_13" not in answer["chosen"]


@pytest.mark.sweep
def test_under_autocast_our_own_kernels_compute_in_float32(swept: Answers) -> None:
    answer = swept["autocast"]
    assert max(answer["differences"]) <= 1e-2 * max(1, answer["largest"]), answer


def test_a_result_that_nothing_is_made_of_has_no_gradient(answers: Answers) -> None:
    answer = answers["results"]
    assert max(answer["loss"], answer["logits"]) <= 1e-5


def test_a_result_that_a_kernel_reads_again_may_not_be_changed(answers: Answers) -> None:
    assert answers["results"]["changed"].startswith("A result of ORTModule was changed in place")


def test_without_our_own_kernels_everything_trains(answers: Answers) -> None:
    answer = answers["without own"]
    assert answer["difference"] <= 1e-5
    assert answer["report"] == ["not available here", "they are not built"]
    assert not answer["library"]


def test_every_choice_is_tested(answers: Answers) -> None:
    tested = {op for case in CASES.values() for op in case.replaced}
    tested |= {op for op, counts in answers["dropout"]["chosen"].items() if "PyTorch" in counts}
    assert tested == {*CHOICES, "Attention", "Linear"}


def test_dropout_scales_kept_values_and_follows_the_seed(answers: Answers) -> None:
    answer = answers["dropout"]
    chosen = {op: counts for op, counts in answer["chosen"].items() if op.startswith("Dropout")}
    assert chosen == {"Dropout": {"PyTorch": 2}, "DropoutGrad": {"PyTorch": 2}}
    assert answer["kept"] == pytest.approx(0.75, abs=0.03)
    assert answer["scaled"] == [0.0, 1.3333]
    assert answer["gradient"] == 0, "the gradient did not go through what stayed"
    assert answer["anew"] > 0.2, "two steps drew the same mask"
    assert answer["alike"], "one seed drew two masks"
    assert answer["other_seed"] > 0.2, "two seeds drew one mask"
    assert answer["two_of_one_input"] > 0.4, "two dropouts of one value drew the same mask"


@pytest.mark.parametrize("switch", SWITCHES)
def test_attention_with_dropout_is_a_kernel_of_our_own(switch: str, answers: Answers) -> None:
    answer = answers["dropped attention"][switch]
    for kernel in ("Attention", "AttentionGradient"):
        assert answer["chosen"][kernel] == {"the workbench": 1}
    # A mean of 400 draws; that of one is 1 to 2 away.
    assert answer["mean"] < 0.15
    assert answer["anew"] > 0.1, "two steps dropped the same"
    assert answer["alike"], "one seed dropped two ways"
    assert answer["other seed"] > 0.1, "two seeds dropped the same"
    if switch != "off":
        assert answer["slope"] == pytest.approx(answer["squared"], rel=2e-3)


def test_dropout_draws_the_same_with_any_number_of_threads(answers: Answers) -> None:
    one, many = answers["threads"]["masks"]
    assert one == many


def test_pytorchs_modes_do_not_reach_the_kernels(answers: Answers) -> None:
    answer = answers["modes"]
    assert answer["difference"] <= 1e-5
    assert answer["seen"] == [], "a kernel called a Python mode from within ONNX Runtime"


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        ("aten::mm", "PyTorch's kernel aten::mm: mat1 and mat2 shapes cannot be multiplied"),
        ("aten::nothing_like_it", "Could not find schema for aten::nothing_like_it"),
        ("workbench_kernels::dropout", "a probability from 0 to below 1"),
    ],
)
def test_a_kernel_that_fails_is_an_error(operator: str, words: str, answers: Answers) -> None:
    message = answers["refusals"][operator]
    assert words in message
    assert "frame #" not in message, "a stack of C++ frames tells people nothing"


def test_recomputed_nodes_keep_their_operators(answers: Answers) -> None:
    chosen = answers["recomputation"]["chosen"]
    assert chosen["Gelu"] == {"ONNX Runtime": 1}
    assert chosen["GeluGrad"] == {"PyTorch": 1}


def test_a_packed_projection_becomes_one_split(answers: Answers) -> None:
    operators = answers["packed"]["operators"]
    assert operators["Split"] == 1
    assert "Squeeze" not in operators
    assert answers["packed"]["turns"] == [], "rows or heads change their place"


def test_the_probe_ends_well(answers: Answers) -> None:
    assert answers.end.startswith("ended with 0:"), answers.end


@pytest.mark.sweep
def test_without_the_extension_everything_trains(tmp_path: Path) -> None:
    """In an empty cache, and with what killed a process that loaded it: half a library."""
    script = """
import json, torch
from torch import nn
from workbench import ORTModule
from workbench.extensions.native_extension import RECORD, native_extension
module = ORTModule(nn.Sequential(nn.Conv2d(8, 16, 3), nn.ReLU()))
module(torch.randn(2, 8, 16, 16)).sum().backward()
report = {each.option: each for each in module.options_report}["pytorch_kernels"]
print(json.dumps([report.state, report.reason]))
"""
    reasons = []
    for content in (None, b"\x7fELF half a library"):
        cache = tmp_path / ("empty" if content is None else "torn")
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "OMP_NUM_THREADS": "1"}
        if content is not None:
            torn = _torn(cache, content)
            assert torn.exists()
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env=environment,
        )
        state, reason = json.loads(done.stdout)
        assert state == "not available here"
        reasons.append(reason)
    assert "not built" in reasons[0]
    assert "was changed after it was built" in reasons[1]
    assert all(reason.endswith("workbench build-extensions") for reason in reasons)


def _torn(cache: Path, content: bytes) -> Path:
    """A library in `cache` of which the record says something else."""
    from workbench.extensions.native_extension import RECORD, native_extension

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        extension = native_extension()
    extension.folder.mkdir(parents=True)
    extension.library.write_bytes(content)
    (extension.folder / RECORD).write_text(json.dumps({"sha256": "0" * 64}), encoding="utf-8")
    return extension.library
