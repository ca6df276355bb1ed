"""The benchmarks run and print what they measured; what they measure is never asserted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from benchmarks.__main__ import BENCHMARKS
from benchmarks.models.language_models import IGNORED, LANGUAGE_MODELS, MASKED, rows
from benchmarks.models.parts import OTHER, part_of
from benchmarks.models.products import Products
from benchmarks.models.subjects import LANGUAGE, NAMES
from benchmarks.models.tables import as_markdown as models_as_markdown
from benchmarks.models.ways import Measured, Outcome
from benchmarks.ortmodule.ortmodule_step import round_medians
from benchmarks.result import Result, as_markdown
from benchmarks.scale_out import federated
from benchmarks.scale_out.distributed import hideable
from tests.fork_server import forked
from workbench.compare.rounds.statistics import Ratio

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        forked("-m", "benchmarks", *arguments),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_benchmark_prints_a_table() -> None:
    outcome = run("import", "--quick")
    assert outcome.returncode == 0, outcome.stderr
    lines = outcome.stdout.splitlines()
    assert lines[0].startswith("| what | measured |")
    assert lines[2].startswith("| `import workbench` |")
    assert lines[-1].startswith("Machine: ")


def test_an_unknown_benchmark_is_wrong_usage() -> None:
    outcome = run("imprt")
    assert outcome.returncode == 2
    for name in BENCHMARKS:
        assert name in outcome.stderr


def test_a_figure_says_its_spread_aim_and_whether_it_met_it() -> None:
    met = Result("a", 1.01, 1.0, 1.02, "95 % interval", "", 1.03, note="of 5 runs")
    missed = Result("b", 2.0, 1.5, 2.5, "range", "s", 1.0)
    text = as_markdown([met, missed], "two cores")
    assert "| a | 1.010 | 1.000 | 1.020 | 95 % interval | ≤ 1.030 | yes |" in text
    assert "| b | 2.000 s | 1.500 s | 2.500 s | range | ≤ 1.000 s | no |" in text
    assert "- a: of 5 runs" in text


def test_secure_aggregation_is_compared_within_its_range() -> None:
    """Seven times the processor time, on processes that share two cores, is not that of a round."""
    plain = federated.Measured(np.array([3.0, 1.0, 2.0, 1.5]), 1.0, 1e6, 100.0, 100.0)
    secure = federated.Measured(np.array([4.0, 6.0, 3.0, 9.0]), 7.0, 2e6, 100.0, 300.0)
    found = federated.compared("a round", secure, plain)
    assert (found.low, found.high) == (4 / 1.5, 3.0)
    assert found.low <= found.value <= found.high
    assert "7.00 times the processor time" in found.note


def test_an_exchange_is_hidden_as_far_as_gradients_are_ready() -> None:
    halves = {"backward_s": 1.0, "gradients": [(0.5, 4), (1.0, 4)]}
    assert hideable(halves, exchange_s=1.0) == 0.5
    assert hideable(halves, exchange_s=4.0) == 0.125
    assert hideable({"backward_s": 1.0, "gradients": [(1.0, 4), (1.0, 4)]}, 1.0) == 0.0


def test_medians_are_taken_round_by_round() -> None:
    """200 steps: 5 of warm-up, then bursts of 9, whose remainder is left out."""
    seconds = np.concatenate([np.full(5, 100.0), np.repeat(np.arange(21.0), 9), np.full(6, 100.0)])
    assert round_medians(seconds, 5).tolist() == list(range(21))


def test_an_unknown_model_is_wrong_usage() -> None:
    outcome = run("models", "--quick", "text-brt")
    assert outcome.returncode == 2
    assert "no model text-brt" in outcome.stderr
    for name in NAMES:
        assert name in outcome.stderr


def test_the_tables_of_models_show_aims_ablations_and_failures() -> None:
    nothing = float("nan")
    products = Products(operations=2e9, per_second=100e9, eager_s=0.1)
    assert products.seconds == 0.02
    eager = Measured("pytorch", Ratio(1, 1, 1), 1, 400, 0.1, 3, 0, 0.2)
    device = Measured("ondevice", Ratio(2, 1.9, 2.1), 0.4, 160, 0.05, 6, 1e-6, 0.4)
    failed = Measured(
        "ortmodule", Ratio(nothing, nothing, nothing), *[nothing] * 6, problem="no kernel"
    )
    ablation = Measured(
        "ondevice, device_kernels=False", Ratio(0.8, 0.7, 0.9), 1.1, 176, 0.06, 6, 1e-6, 0.3
    )
    outcome = Outcome("text-bert", 10, 16, products, (eager, device, failed), (ablation,), "Busy.")
    lines = models_as_markdown([outcome], "two cores").splitlines()
    assert (
        "| text-bert | `ondevice` | 2.00 (1.90 to 2.10) | ≥ 1.5: yes | 50.0 | 40% | 0.40 "
        "| ≤ 0.33: no | 160 | 6.0 | 1e-06 |"
    ) in lines
    assert "| text-bert | ondevice, device_kernels=False | 0.80 (0.70 to 0.90) | 1.10 |" in lines
    assert "- text-bert, ortmodule: no kernel" in lines
    assert any("2.00 GFLOP a step at 100 GFLOP/s: 20.0 ms. Busy." in line for line in lines)


def test_the_text_is_padded_as_real_text_is() -> None:
    assert set(LANGUAGE) == set(LANGUAGE_MODELS)
    found = rows("bert-30522")
    mask, labels = found["attention_mask"], found["labels"]
    assert 1 / 3 < 1 - mask.mean() < 2 / 3
    assert abs((labels != IGNORED).sum() / mask.sum() - MASKED) < 0.03
    assert (labels[mask == 0] == IGNORED).all()
    for name, model in LANGUAGE_MODELS.items():
        assert rows(name)["input_ids"].max() < model.vocabulary


def test_operators_of_every_engine_have_their_part_of_a_step() -> None:
    parts = {
        "matrix products": ("FusedMatMul", "Gemm", "aten::addmm", "aten::bmm"),
        "attention": (
            *("AttentionGradient", "Attention"),
            "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
        ),
        "copies": ("Transpose", "aten::copy_"),
        "optimizer": ("AdamWOptimizer", "aten::_fused_adamw_"),
        "between nodes": ("(between nodes)",),
        OTHER: ("BiasGelu", "aten::add", "LayerNormalization", "MatMulInteger"),
    }
    assert {name: part_of(name) for names in parts.values() for name in names} == {
        name: part for part, names in parts.items() for name in names
    }
