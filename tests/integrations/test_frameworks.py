"""Hugging Face, Accelerate, Lightning and DeepSpeed train an ORTModule as the plain module.

All of it runs in one process (frameworks_probe.py), and once more on two ranks (ranks_probe.py);
the tests read what came out.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

import pytest

from tests.answers import Answers, probed
from tests.representative import representative
from workbench.ort.ortmodule.fallback_reasons import PARTITIONED, SETS_UP

NEEDED = ("transformers", "accelerate", "peft", "lightning")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"{MISSING} missing: pip install -e '.[hf,lightning]'"
)

HAS_DEEPSPEED = importlib.util.find_spec("deepspeed") is not None
by_deepspeed = pytest.mark.skipif(
    not HAS_DEEPSPEED,
    reason="deepspeed missing: pip install -e '.[deepspeed]'",
)

TOLERANCES = {
    "trainer": 5e-6,
    "trainer-label-smoothing": 2e-5,
    # AdamW's first steps depend on the sign of gradients that are almost zero.
    "trainer-accumulation": 1e-4,
    "trainer-checkpointing": 5e-6,
    # AdamW takes a step of the learning rate, 1e-3, also where rounding decides on its sign. That
    # products are those of bfloat16 is tested where it shows: autocast-products in usage_cases.py.
    "trainer-bfloat16": 4e-3,
    "trainer-adapters": 5e-6,
    "trainer-deberta": 5e-6,
    "trainer-plain": 2e-5,
    "trainer-resumed": 0.0,
    "script-classify-text": 5e-6,
    "script-model-language": 2e-5,
    "accelerate": 5e-6,
    "accelerate-bfloat16": 4e-3,
    "lightning": 5e-6,
    "lightning-bfloat16": 2e-3,
}
"""Largest difference of a parameter from the plain module's, after several steps."""


USUAL = representative(
    TOLERANCES,
    every=len(TOLERANCES),
    always=(
        *("trainer-adapters", "trainer-deberta", "trainer-resumed", "script-classify-text"),
        *("accelerate", "lightning"),
    ),
)
OTHERS = (
    *("trainer-saved-adapters", "trainer-given"),
    # The last: with ZeRO 3 DeepSpeed changes torch for the whole process.
    *(
        ("deepspeed-2-resumed", "deepspeed-refused", "trainer-with-deepspeed", "deepspeed-3")
        if HAS_DEEPSPEED
        else ()
    ),
)
"""Cases with tests of their own."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    folder = tmp_path_factory.mktemp("frameworks")
    return probed("tests.integrations.frameworks_probe", folder, *USUAL, *OTHERS)


def assert_in_graphs(answer: Mapping[str, Any]) -> None:
    """Only the first call may be PyTorch's: there transformers sets a model's problem type."""
    assert answer["graphs"] > 0, "nothing ran in ONNX Runtime"
    in_pytorch = dict(answer["pytorch_calls"])
    in_pytorch.pop("evaluation mode", None)
    assert in_pytorch.pop(SETS_UP, 0) <= 1
    assert in_pytorch == {}


@pytest.mark.parametrize("name", USUAL)
def test_trains_as_the_plain_module(answers: Answers, name: str) -> None:
    answer = answers[name]
    assert_in_graphs(answer)
    assert answer["difference"] <= TOLERANCES[name]


def test_the_trainer_evaluates_the_labels(answers: Answers) -> None:
    assert answers["trainer-resumed"]["eval_loss"] > 0
    assert answers["lightning"]["val_loss"] > 0


def test_a_resumed_training_ends_where_a_whole_one_does(answers: Answers) -> None:
    assert answers["lightning"]["resumed_apart"] == 0


def test_adapters_are_saved_alone(answers: Answers) -> None:
    files = answers["trainer-saved-adapters"]["files"]
    assert {"adapter_config.json", "adapter_model.safetensors"} <= set(files)
    assert "model.safetensors" not in files


def test_the_trainer_keeps_the_ort_module_that_it_is_given(answers: Answers) -> None:
    answer = answers["trainer-given"]
    assert answer["same"]
    assert answer["graphs"] == 1
    assert (answer["model"], answer["written"]) == ("GPT2LMHeadModel", [1, 7])


@pytest.fixture(scope="module")
def on_two_ranks(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return probed("tests.integrations.ranks_probe", tmp_path_factory.mktemp("ranks"))


@pytest.mark.sweep  # tests/ort/ortmodule trains on two ranks without a framework
@pytest.mark.parametrize("name", ["trainer", "accelerate", "lightning"])
def test_ranks_train_as_with_the_plain_module(on_two_ranks: Answers, name: str) -> None:
    answer = on_two_ranks[name]
    assert_in_graphs(answer)
    assert answer["difference"] <= 2e-5
    assert answer["ranks_apart"] == 0


@pytest.mark.sweep
def test_lightning_resumes_on_ranks_as_if_it_had_gone_on(on_two_ranks: Answers) -> None:
    assert on_two_ranks["lightning-resumed"]["apart"] == 0


ON_ONE_RANK = "answers"
ON_TWO_RANKS = pytest.param("on_two_ranks", marks=pytest.mark.sweep)


@by_deepspeed
@pytest.mark.sweep
@pytest.mark.parametrize("name", ["0", "1", "2", "2-accumulated"])
def test_ranks_of_deepspeed_train_as_one_process(on_two_ranks: Answers, name: str) -> None:
    """With the norm of the gradient clipped, which takes that of all ranks."""
    answer = on_two_ranks[f"deepspeed-{name}"]
    assert_in_graphs(answer)
    assert answer["difference"] <= 1e-6
    assert answer["ranks_apart"] == 0


@by_deepspeed
@pytest.mark.parametrize(
    ("ranks", "stage"),
    [
        (ON_ONE_RANK, 2),
        pytest.param("on_two_ranks", 1, marks=pytest.mark.sweep),
        pytest.param("on_two_ranks", 2, marks=pytest.mark.sweep),
    ],
)
def test_deepspeed_goes_on_from_its_checkpoint(
    request: pytest.FixtureRequest, ranks: str, stage: int
) -> None:
    answer = request.getfixturevalue(ranks)[f"deepspeed-{stage}-resumed"]
    assert_in_graphs(answer)
    assert answer["difference"] == 0
    assert answer["plain_difference"] <= 1e-6, "resumed with the plain module"
    assert answer["ranks_apart"] == 0


@by_deepspeed
@pytest.mark.sweep
def test_deepspeed_trains_under_autocast(on_two_ranks: Answers) -> None:
    answer = on_two_ranks["deepspeed-bfloat16"]
    assert_in_graphs(answer)
    assert answer["difference"] <= 4e-3
    assert answer["ranks_apart"] == 0


@by_deepspeed
@pytest.mark.parametrize("ranks", [ON_ONE_RANK, ON_TWO_RANKS])
def test_a_module_that_deepspeed_makes_bfloat16_is_refused(
    request: pytest.FixtureRequest, ranks: str
) -> None:
    assert "bfloat16" in request.getfixturevalue(ranks)["deepspeed-refused"]


@by_deepspeed
def test_the_trainer_is_refused_where_deepspeed_leaves_no_place_for_an_ort_module(
    answers: Answers,
) -> None:
    assert "PyTorch would run everything" in answers["trainer-with-deepspeed"]


@by_deepspeed
@pytest.mark.parametrize("ranks", [ON_ONE_RANK, ON_TWO_RANKS])
def test_what_zero_3_partitions_runs_in_pytorch(request: pytest.FixtureRequest, ranks: str) -> None:
    """Around an ORTModule, around layers that are, and around one made under `zero.Init`."""
    answer = request.getfixturevalue(ranks)["deepspeed-3"]
    assert answer["difference"] <= 1e-6
    assert answer["ranks_apart"] == 0
    assert answer["graphs"] == 0
    assert [list(calls) for calls in answer["pytorch_calls"]] == [[PARTITIONED]] * 4
