"""The effect of each option of ORTModule on graph, memory or threads, and its statistics.

All of it runs once in a process of its own (options_probe.py); the tests read what came out.
"""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from tests.answers import Answers, probed
from workbench.settings.ortmodule_options import ORTModuleOptions

Answer = dict[str, Any]
MEGABYTE = 1_000_000


PROBE = "tests.ort.ortmodule.options_probe"
SWEPT = ("labels_summed", "padding_encoder", "padding_zeros")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return probed(PROBE, tmp_path_factory.mktemp("options"))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return probed(PROBE, tmp_path_factory.mktemp("options"), *SWEPT)


def nodes(answer: Answer) -> int:
    return sum(answer["optimized"].values())


def test_every_option_is_reported_in_its_order(answers: Answers) -> None:
    report = answers["default"]["report"]
    assert list(report) == list(ORTModuleOptions.model_fields)
    on = {
        "label_sparsity",
        "embedding_sparsity",
        "cast_propagation_level",
        "cast_propagation_strategy",
        "gradient_pieces",
        "log_level",
    }
    assert {name for name, (state, _) in report.items() if state == "on"} - on <= {
        "pytorch_kernels"
    }
    assert report["device_kernels"] == ["off", ""]
    assert all(state in ("on", "off", "not available here") for state, _ in report.values())
    assert report["cast_propagation_level"][1] == "the graph computes nothing in half precision"


@pytest.mark.parametrize(
    "name",
    [
        "default",
        "level_1",
        "level_2",
        "recompute_gelu",
        "recompute_nothing",
        "memory_efficient",
        "compute_optimizer",
        "nothing_to_move",
        "sparsity",
        "casts_off",
        "saved_graphs",
    ],
)
def test_gradients_stay_pytorchs(name: str, answers: Answers) -> None:
    difference = answers[name]["difference"]
    assert difference <= 1e-6, f"gradients differ by {difference}"


@pytest.mark.parametrize("level", [1, 2])
def test_a_level_of_the_memory_optimizer_computes_again(level: int, answers: Answers) -> None:
    answer = answers[f"level_{level}"]
    before, after = nodes(answers["default"]), nodes(answer)
    assert after > before
    state, reason = answer["report"]["memory_optimizer_level"]
    assert state == "on"
    assert reason.startswith(
        f"level {level}: {after} nodes in place of {before}, to compute again "
    )


def test_a_recompute_config_recomputes_the_named_subgraphs(answers: Answers) -> None:
    default, answer = answers["default"], answers["recompute_gelu"]
    assert answer["optimized"]["Gelu"] == 2 * default["optimized"]["Gelu"] == 4
    reason = answer["report"]["recompute_config"][1]
    assert reason == (
        f"{nodes(answer)} nodes in place of {nodes(default)}, to compute again Gelu+:1:-1"
    )


def test_a_recompute_config_without_effect_is_reported(answers: Answers) -> None:
    answer = answers["recompute_nothing"]
    assert nodes(answer) == nodes(answers["default"])
    reason = answer["report"]["recompute_config"][1]
    assert reason == "the graph keeps no result of Softmax+:1:-1"


def test_recomputed_results_take_no_memory_between_the_passes(answers: Answers) -> None:
    peak = answers["peak"]
    assert answers["peak_level_1"] < 0.95 * peak
    assert answers["peak_gelu"] < peak - 5 * MEGABYTE


def test_memory_efficient_gradients_read_the_output_of_layer_normalization(
    answers: Answers,
) -> None:
    answer = answers["memory_efficient"]
    count = answer["gradient"]["InvertibleLayerNormalizationGrad"]
    assert count >= 1
    # Fused with the addition before it, it would no longer give what the backward pass reads.
    assert "SkipLayerNormalization" not in answer["optimized"]
    assert answer["report"]["memory_efficient_gradients"] == [
        "on",
        f"for {count} LayerNormalization",
    ]


def test_the_compute_optimizer_takes_a_part_before_it_is_computed(answers: Answers) -> None:
    before, after = answers["not_moved"], answers["compute_optimizer"]
    assert after["place"] < before["place"]
    assert after["report"]["compute_optimizer"][1] == (
        "Gather and Slice were moved before other layers"
    )
    nothing = answers["nothing_to_move"]
    assert nothing["gradient"] == answers["default"]["gradient"]
    assert nothing["report"]["compute_optimizer"][1] == ("the graph has nothing that it could move")


def test_ignored_labels_are_left_out_before_the_last_layers(answers: Answers) -> None:
    check_labels(answers["labels"])
    # As eager's: the mean of no losses is NaN, and trains nothing.
    loss, gradient = answers["labels"]["without_labels"].values()
    assert math.isnan(loss)
    assert gradient == 0


@pytest.mark.sweep
def test_ignored_labels_of_a_sum_are_left_out_too(swept: Answers) -> None:
    check_labels(swept["labels_summed"])
    assert swept["labels_summed"]["without_labels"] == {"loss": 0, "gradient": 0}


def check_labels(answer: Answer) -> None:
    assert answer["picked_first"]
    assert answer["loss"] <= 1e-6, f"losses differ by {answer['loss']}"
    assert answer["gradient"] <= 1e-6, f"gradients differ by {answer['gradient']}"
    assert answer["report"] == ["on", "in 1 loss of the graph"]


def test_logits_that_are_wanted_too_are_computed_in_full(answers: Answers) -> None:
    answer = answers["labels_with_logits"]
    assert not answer["picked_first"]
    assert answer["loss"] <= 1e-6, f"losses differ by {answer['loss']}"
    assert answer["gradient"] <= 1e-6, f"gradients differ by {answer['gradient']}"
    assert answer["report"][1].startswith("the graph has no loss that ignores labels and whose")


def test_embedding_sparsity_without_padding_changes_nothing(answers: Answers) -> None:
    answer = answers["sparsity"]
    assert answer["report"]["embedding_sparsity"] == [
        "on",
        "nothing is left out: no argument marks padding tokens",
    ]
    assert answer["optimized"] == answers["default"]["optimized"]


@pytest.mark.parametrize(
    "name", ["padding", "padding_pooled", "padding_weighted", "padding_traced"]
)
def test_layers_by_token_compute_no_padding(name: str, answers: Answers) -> None:
    check_padding(answers[name])


@pytest.mark.parametrize("name", ["first_traced", "attention_traced"])
def test_traced_graphs_have_pytorchs_gradients(name: str, answers: Answers) -> None:
    answer = answers[name]
    assert answer["loss"] <= 1e-6, f"losses differ by {answer['loss']}"
    assert answer["gradient"] <= 1e-6, f"gradients differ by {answer['gradient']}"


def test_a_mask_that_is_not_recognized_leaves_padding(answers: Answers) -> None:
    answer = answers["padding_turned"]
    assert answer["gradient"] <= 1e-6, f"gradients differ by {answer['gradient']}"
    assert answer["report"][1].startswith("nothing is left out: ")


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["padding_encoder", "padding_zeros"])
def test_layers_of_other_models_compute_none_either(name: str, swept: Answers) -> None:
    check_padding(swept[name])


def check_padding(answer: Answer) -> None:
    assert answer["loss"] <= 1e-6, f"losses differ by {answer['loss']}"
    assert answer["gradient"] <= 1e-6, f"gradients differ by {answer['gradient']}"
    state, reason = answer["report"]
    assert state == "on"
    assert re.match(r"\d+ matrix products leave out padding, marked by input_\d", reason)


def test_casts_are_propagated_by_level_strategy_and_allowed_operators(answers: Answers) -> None:
    casts = {
        name: answers[name]["gradient"]["Cast"]
        for name in ("casts_off", "casts", "casts_level_0", "casts_allowed", "casts_inserted")
    }
    # Whose kernels run the rest adds or saves single casts, with or without the extension.
    assert casts["casts_allowed"] < casts["casts_level_0"]
    assert casts["casts"] < casts["casts_off"]
    assert casts["casts"] < casts["casts_inserted"]
    for name, tolerance in (("casts", 1e-3), ("casts_allowed", 1e-3), ("casts_inserted", 1e-2)):
        answer = answers[name]
        assert answer["difference"] <= tolerance, f"gradients differ by {answer['difference']}"
        assert "changed the casts" in answer["report"]["cast_propagation_level"][1]
    assert answers["casts_off"]["report"]["cast_propagation_level"] == ["off", ""]
    assert answers["casts_allowed"]["report"]["cast_propagation_allow"] == [
        "on",
        "Sigmoid, Transpose",
    ]


def test_gelu_is_approximated(answers: Answers) -> None:
    answer = answers["gelu"]
    assert answer["optimized"]["FastGelu"] == 2
    assert "Gelu" not in answer["optimized"]
    assert 1e-6 < answer["difference"] < 1e-3
    assert answer["report"]["gelu_approximation"] == ["on", "for 2 GELU"]


def test_threads_are_those_asked_for(answers: Answers) -> None:
    one, two = answers["threads_1"], answers["threads_2"]
    assert (one["session"], two["session"]) == ([1], [2])
    # The thread that calls works as well.
    assert two["more"] - one["more"] == 1


def test_threads_wait_busily_only_where_asked(answers: Answers) -> None:
    """Told by the session: whether they are seen running depends on what else the machine runs."""
    assert answers["spins"]
    assert not answers["waits_asleep"]


def test_memory_patterns_plan_more_than_the_arena_takes(answers: Answers) -> None:
    # What PyTorch's kernels give is in memory of their own.
    assert answers["peak_pattern"] > 1.2 * answers["peak_own_kernels"]


def test_memory_reuse_takes_more_than_the_default(answers: Answers) -> None:
    assert answers["peak_reuse"] - answers["peak"] > 2 * MEGABYTE


def test_graphs_are_saved_under_a_number_each(answers: Answers) -> None:
    answer = answers["saved_graphs"]
    parts = ("forward", "gradient", "optimized")
    assert sorted(answer["files"]) == [f"{n}-{part}.onnx" for n in (1, 2) for part in parts]
    assert "YieldOp" not in answer["files"]["1-forward.onnx"]
    assert answer["files"]["1-gradient.onnx"] == answer["gradient"]
    assert answer["files"]["1-optimized.onnx"] == answer["optimized"]
    assert answer["files"]["2-forward.onnx"]["Sigmoid"] == 1
    assert answer["reasons"] == [f"{answer['target']}/{n}-*.onnx" for n in (1, 2)]


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(answers: Answers) -> None:
    refusal = answers["saved_graphs"]["refusal"]
    assert refusal.startswith("EngineError: saved_graphs='")
    assert "Not a directory" in refusal
    assert "Name a folder that can be written." in refusal


def test_the_log_level_is_onnx_runtimes(answers: Answers) -> None:
    assert answers["log_error"] == 0
    assert answers["log_info"] > 10


def test_deterministic_runs_have_the_same_bits_and_measure_nothing(answers: Answers) -> None:
    answer = answers["deterministic"]
    assert answer["same"]
    assert answer["native"]
    assert answer["threads"] == [2]
    assert answer["report"] == ["on", "threads are not measured"]
    assert answer["asked"][0] == "on"
    assert "torch.use_deterministic_algorithms" in answer["asked"][1]


def test_options_that_are_none_are_refused_when_the_module_is_wrapped(answers: Answers) -> None:
    unknown = answers["unknown"]
    assert unknown.startswith("ConfigError: 1 setting is wrong")
    assert "thread: no such setting. Did you mean 'threads'?" in unknown
    assert "options='spinning': must be an ORTModuleOptions" in answers["no_options"]
