"""ORTModule beside the plain module: losses, gradients, buffers, and what it refuses.

All of it runs once in a process of its own (probe.py); the tests read what came out.
"""

from __future__ import annotations

import pytest

from tests.answers import Answers, probed
from tests.ort.ortmodule.cases import USUAL


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return probed("tests.ort.ortmodule.probe", tmp_path_factory.mktemp("ortmodule"))


def within(values: dict[str, float], tolerance: float) -> None:
    worst = max(values, key=lambda name: values[name])
    assert values[worst] <= tolerance, f"largest difference {values[worst]} at {worst}"


@pytest.mark.parametrize("name", list(USUAL))
def test_a_step_has_pytorchs_loss_and_gradients(name: str, answers: Answers) -> None:
    answer = answers[name]
    assert answer["loss"] <= 1e-6, f"losses differ by {answer['loss']}"
    within(answer["gradients"], answer["tolerance"])


@pytest.mark.parametrize("name", list(USUAL))
def test_results_have_the_plain_modules_nesting(name: str, answers: Answers) -> None:
    plain, wrapped = answers[name]["nesting"]
    assert wrapped == plain


@pytest.mark.parametrize("name", list(USUAL))
def test_names_are_the_plain_modules(name: str, answers: Answers) -> None:
    answer = answers[name]
    assert answer["keys"], "keys of state_dict"
    assert answer["names"], "names of parameters"


@pytest.mark.parametrize("name", list(USUAL))
def test_training_follows_pytorch_on_one_graph(name: str, answers: Answers) -> None:
    """20 SGD steps with batches of three sizes; buffers are among the state."""
    training = answers[name]["training"]
    assert training["loss"] <= 1e-5, f"losses differ by {training['loss']}"
    within(training["state"], 1e-5)
    assert training["graphs"] == 1, "a graph holds for every batch size"


def test_batch_norm_keeps_pytorchs_statistics(answers: Answers) -> None:
    answer = answers["batch_norm"]
    within(answer["state"], 1e-5)
    assert answer["batches"] == 50
    assert answer["evaluation"] <= 1e-5, f"evaluation differs by {answer['evaluation']}"


def test_evaluation_mode_and_no_grad_run_the_plain_module(answers: Answers) -> None:
    answer = answers["modes"]
    assert answer["difference"] <= 1e-6, f"differs by {answer['difference']}"
    assert answer["unchanged"], "building or evaluation changed a buffer"
    assert answer["free"], "a result under no_grad requires a gradient"
    assert answer["graphs"] == [2, 2], "evaluation built a graph"
    assert answer["inner"], "train() did not reach every submodule"


def test_layers_in_evaluation_mode_stay_so_while_the_rest_trains(answers: Answers) -> None:
    answer = answers["mixed_modes"]
    assert answer["gradient"] <= 1e-5, f"gradients differ by {answer['gradient']}"
    within(answer["state"], 1e-5)
    assert answer["kept"], "a layer in evaluation mode updated its statistics"
    assert answer["graphs"] == 2


def test_frozen_parameters_have_no_gradient(answers: Answers) -> None:
    answer = answers["freezing"]
    assert answer["gradient"] <= 1e-5, f"gradients differ by {answer['gradient']}"
    first, second, third = answer["given"]
    assert not any(name.startswith("hidden1") for name in first)
    assert second == ["hidden1.bias", "hidden2.bias", "hidden2.weight"]
    assert len(third) == 6
    assert answer["graphs"] == 3


def test_inputs_get_gradients(answers: Answers) -> None:
    answer = answers["input_gradients"]
    assert answer["difference"] <= 1e-5, f"differs by {answer['difference']}"
    assert answer["alone"] <= 1e-5, f"with all parameters frozen: {answer['alone']}"


@pytest.mark.parametrize(
    "what",
    [
        "before",
        "other_memory",
        "not_contiguous",
        "not_contiguous_changed",
        "loaded",
        "accumulated",
        "strided_input",
        "batch_of_one",
        "replaced_submodule",
        "bias_taken_away",
    ],
)
def test_parameters_are_read_where_they_are(what: str, answers: Answers) -> None:
    difference = answers["memory"][what]
    assert difference <= 1e-5, f"differs by {difference}"


@pytest.mark.parametrize("kind", ["activation", "reshaped", "sliced", "parameters"])
def test_the_backward_pass_overwrites_nothing_that_is_held(kind: str, answers: Answers) -> None:
    changed = answers["results_stay"][kind]
    assert changed == 0, f"changed by {changed}"


def test_dropout_follows_the_seed(answers: Answers) -> None:
    answer = answers["seeded_dropout"]
    assert answer["kept"] == pytest.approx(0.75, abs=0.03)
    assert answer["anew"] > 0.2, "two steps drew the same mask"
    assert answer["alike"], "one seed drew two masks"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("operator", ["UntrainableError", "Det", "Replace the layer"]),
        ("branch", ["UntrainableError", "Branches", "branches on the values"]),
        ("argument", ["UntrainableError", "builtins.set", "Wrap the module"]),
        ("result", ["UntrainableError", "builtins.set"]),
        ("backward_twice", ["EngineError", "second backward pass", "call the module again"]),
        ("second_derivative", ["EngineError", "create_graph", "plain module"]),
        ("device", ["UntrainableError", "meta", "CPU"]),
    ],
)
def test_unsupported_modules_are_refused(what: str, words: list[str], answers: Answers) -> None:
    message = answers["refusals"][what]
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"


def test_a_refused_module_is_unchanged(answers: Answers) -> None:
    assert answers["refusals"]["unchanged"] == "True"


def test_no_function_of_torch_is_replaced(answers: Answers) -> None:
    answer = answers["untouched_torch"]
    assert answer["checkpoint"] == "torch.utils.checkpoint"
    assert answer["front_end"] == []


def test_the_probe_ends_well(answers: Answers) -> None:
    assert answers.end.startswith("ended with 0:"), answers.end
