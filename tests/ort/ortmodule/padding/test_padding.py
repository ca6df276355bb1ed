"""Models of transformers on padded batches, without padding; the default run has models of ours.

They are trained in a process of its own (padding_probe.py).
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.answers import Answers, probed

pytestmark = pytest.mark.sweep

PRODUCTS = {
    "bert": 12,
    "deberta": 12,
    "distilbert": 12,
    "gpt2": 8,
    "llama": 14,
    "roberta": 12,
    "t5": 16,
    "padding_einsum": 2,
}
"""Products with matrices of layers; those of attention and of the labels' words aside."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return probed("tests.ort.ortmodule.padding.padding_probe", tmp_path_factory.mktemp("padding"))


@pytest.mark.parametrize("name", PRODUCTS)
def test_losses_and_gradients_are_pytorchs(name: str, answers: Answers) -> None:
    answer: dict[str, Any] = answers[name]
    assert answer["loss"] <= 1e-6, f"losses differ by {answer['loss']}"
    assert answer["gradient"] <= 1e-6, f"gradients differ by {answer['gradient']}"
    count = PRODUCTS[name]
    assert answer["report"][1] == f"{count} matrix products leave out padding, marked by input_1"


def test_logits_that_may_be_read_keep_padding(answers: Answers) -> None:
    answer = answers["logits"]
    assert answer["gradient"] <= 1e-6, f"gradients differ by {answer['gradient']}"
    assert answer["report"][1].startswith("nothing is left out: the result ")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("padding_lstm", "LSTM ("),
        ("padding_batch_norm", "BatchNormalization ("),
        ("padding_results", "the result "),
    ],
)
def test_padding_that_results_show_is_computed(name: str, why: str, answers: Answers) -> None:
    answer = answers[name]
    assert answer["gradient"] <= 1e-6, f"gradients differ by {answer['gradient']}"
    assert answer["report"][0] == "on"
    assert answer["report"][1].startswith(f"nothing is left out: {why}")


def test_nothing_is_logged(answers: Answers) -> None:
    """The builder of gradients logs constants that it drops to a logger without our options."""
    assert "onnxruntime:Default" not in answers.end, answers.end


def test_batches_of_other_shapes_are_pytorchs(answers: Answers) -> None:
    answer = answers["padding_shapes"]
    assert answer["loss"] <= 1e-6, f"losses differ by {answer['loss']}"
    assert answer["gradient"] <= 1e-6, f"gradients differ by {answer['gradient']}"


def test_dropout_draws_from_the_same_distribution(answers: Answers) -> None:
    answer = answers["dropout"]
    assert "matrix products leave out padding" in answer["report"]
    assert answer["spread"] > 0
    assert answer["difference"] <= 4 * answer["error"], answer
