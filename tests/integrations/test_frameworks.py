"""Hugging Face, Accelerate, Lightning and DeepSpeed train an ORTModule as the plain module.

The cases of each framework run in one process (frameworks_probe.py), and some on two ranks
(ranks_probe.py); the tests read what came out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.answers import Answers, probed
from tests.integrations.needed_packages import framework_of, needs, why_missing
from tests.representative import representative
from workbench.ort.ortmodule.fallback_reasons import PARTITIONED, SETS_UP

ADAMW = 2e-5
"""A fiftieth of a step. How far rounding takes AdamW apart depends on the processor."""

TOLERANCES = {
    "trainer": ADAMW,
    "trainer-label-smoothing": ADAMW,
    # AdamW's first steps depend on the sign of gradients that are almost zero.
    "trainer-accumulation": 1e-4,
    "trainer-checkpointing": ADAMW,
    # By SGD with a rate of 0.1: AdamW takes whole steps where rounding decides on the sign.
    "trainer-bfloat16": 1e-3,
    "trainer-adapters": ADAMW,
    "trainer-deberta": ADAMW,
    "trainer-roberta": ADAMW,
    "trainer-bart": ADAMW,
    "trainer-distilbert": ADAMW,
    "trainer-plain": ADAMW,
    "trainer-seq2seq": ADAMW,
    "trainer-of-another-class": ADAMW,
    "trainer-resumed": 0.0,
    "script-classify-text": ADAMW,
    "script-model-language": ADAMW,
    "accelerate": ADAMW,
    "accelerate-bfloat16": 1e-3,
    "lightning": ADAMW,
    "lightning-bfloat16": 2e-3,
}
"""Largest difference of a parameter from the plain module's, after several steps."""


USUAL = representative(
    TOLERANCES,
    every=0,  # of "trainer", notebooks/03_scale_out.ipynb has the like
    always=(
        *("script-classify-text", "trainer-of-another-class", "accelerate"),
        *("lightning", "lightning-bfloat16"),
    ),
)
OTHERS = (
    *("trainer-given", "deepspeed-2-resumed", "deepspeed-refused"),
    # The last: with ZeRO 3 DeepSpeed changes torch for the whole process.
    *("trainer-with-deepspeed", "deepspeed-3"),
)
"""Cases with tests of their own."""

ON_RANKS = (
    *("trainer", "trainer-adapters", "trainer-resumed", "accelerate"),
    *("lightning", "lightning-resumed"),
    *("deepspeed-0", "deepspeed-1", "deepspeed-2", "deepspeed-2-accumulated"),
    *("deepspeed-1-resumed", "deepspeed-2-resumed", "deepspeed-bfloat16", "deepspeed-refused"),
    "deepspeed-3",
)
"""Cases that two ranks train."""


class Trained:
    """What came of each case. Those of a framework run together, when one of them is asked for: a
    framework that hangs or dies fails its own tests."""

    def __init__(self, probe: str, names: Sequence[str], factory: pytest.TempPathFactory) -> None:
        self._probe = probe
        self._names = names
        self._factory = factory
        self._found: dict[str, Answers] = {}

    def __getitem__(self, name: str) -> Any:
        framework = framework_of(name)
        if framework not in self._found:
            own = [each for each in self._names if framework_of(each) == framework]
            there = [each for each in own if not why_missing(each)]
            self._found[framework] = probed(self._probe, self._factory.mktemp(framework), *there)
        return self._found[framework][name]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return Trained("tests.integrations.frameworks_probe", [*USUAL, *OTHERS], tmp_path_factory)


@pytest.fixture(scope="module")
def on_two_ranks(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return Trained("tests.integrations.ranks_probe", ON_RANKS, tmp_path_factory)


def assert_in_graphs(answer: Mapping[str, Any]) -> None:
    """Only the first call may be PyTorch's: there transformers sets a model's problem type."""
    assert answer["graphs"] > 0, "nothing ran in ONNX Runtime"
    in_pytorch = dict(answer["pytorch_calls"])
    in_pytorch.pop("evaluation mode", None)
    assert in_pytorch.pop(SETS_UP, 0) <= 1
    assert in_pytorch == {}


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in USUAL])
def test_trains_as_the_plain_module(answers: Trained, name: str) -> None:
    answer = answers[name]
    assert_in_graphs(answer)
    assert answer["difference"] <= TOLERANCES[name]
    # A training in float32 is further from PyTorch's in bfloat16, and its graphs round nothing.
    assert (answer["rounded"] > 0) == name.endswith("bfloat16")
    assert answer.get("apart", 0) <= answer.get("float32_apart", 0) / 2
    assert answer.get("written") == answer.get("expected"), "what is generated of a translation"


@pytest.mark.sweep
@needs("trainer")
def test_the_trainer_computes_the_loss_of_labels_that_count_alone(answers: Trained) -> None:
    """Its model returns logits as well, which the Trainer does not read."""
    assert answers["trainer-roberta"]["labels"] == "in 1 loss of the graph"


@pytest.mark.sweep
@needs("trainer")
def test_the_trainer_evaluates_the_labels(answers: Trained) -> None:
    assert answers["trainer-resumed"]["eval_loss"] > 0


@needs("lightning")
def test_lightning_validates(answers: Trained) -> None:
    assert answers["lightning"]["val_loss"] > 0


@needs("lightning")
def test_a_resumed_training_ends_where_a_whole_one_does(answers: Trained) -> None:
    assert answers["lightning"]["resumed_apart"] == 0


@pytest.mark.sweep
@needs("trainer")
def test_adapters_are_saved_alone(answers: Trained) -> None:
    files = answers["trainer-adapters"]["files"]
    assert {"adapter_config.json", "adapter_model.safetensors"} <= set(files)
    assert "model.safetensors" not in files


@needs("trainer")
def test_the_trainer_keeps_the_ort_module_that_it_is_given(answers: Trained) -> None:
    answer = answers["trainer-given"]
    assert answer["same"]
    assert answer["graphs"] == 1
    assert answer["model"] == "GPT2LMHeadModel"


@needs("trainer")
def test_it_generates_the_text_of_the_plain_module(answers: Trained) -> None:
    """After as many steps: two rows of eight tokens each, behind the prompt."""
    written = answers["trainer-given"]["written"]
    assert written == answers["trainer-given"]["expected"]
    assert [len(row) for row in written] == [11, 11]


@pytest.mark.sweep  # tests/ort/ortmodule trains on two ranks without a framework
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=needs(name))
        for name in ("trainer", "trainer-adapters", "accelerate", "lightning")
    ],
)
def test_ranks_train_as_with_the_plain_module(on_two_ranks: Trained, name: str) -> None:
    answer = on_two_ranks[name]
    assert_in_graphs(answer)
    assert answer["difference"] <= 2e-5
    assert answer["ranks_apart"] == 0


@pytest.mark.sweep
@pytest.mark.parametrize(
    "name",
    [pytest.param(f"{name}-resumed", marks=needs(name)) for name in ("trainer", "lightning")],
)
def test_ranks_resume_as_if_they_had_gone_on(on_two_ranks: Trained, name: str) -> None:
    answer = on_two_ranks[name]
    assert_in_graphs(answer)
    assert answer["apart"] == 0


ON_ONE_RANK = "answers"
ON_TWO_RANKS = pytest.param("on_two_ranks", marks=pytest.mark.sweep)


@needs("deepspeed")
@pytest.mark.sweep
@pytest.mark.parametrize("name", ["0", "1", "2", "2-accumulated"])
def test_ranks_of_deepspeed_train_as_one_process(on_two_ranks: Trained, name: str) -> None:
    """With the norm of the gradient clipped, which takes that of all ranks."""
    answer = on_two_ranks[f"deepspeed-{name}"]
    assert_in_graphs(answer)
    assert answer["difference"] <= 1e-6
    assert answer["ranks_apart"] == 0


@needs("deepspeed")
@pytest.mark.parametrize(
    ("ranks", "stage"),
    [
        (ON_ONE_RANK, 2),
        pytest.param("on_two_ranks", 1, marks=pytest.mark.sweep),
        pytest.param("on_two_ranks", 2, marks=pytest.mark.sweep),
    ],
)
def test_deepspeed_continues_from_its_checkpoint(
    request: pytest.FixtureRequest, ranks: str, stage: int
) -> None:
    answer = request.getfixturevalue(ranks)[f"deepspeed-{stage}-resumed"]
    assert_in_graphs(answer)
    assert answer["difference"] == 0
    assert answer["plain_difference"] <= 1e-6, "resumed with the plain module"
    assert answer["ranks_apart"] == 0


@needs("deepspeed")
@pytest.mark.sweep
def test_deepspeed_trains_under_autocast(on_two_ranks: Trained) -> None:
    answer = on_two_ranks["deepspeed-bfloat16"]
    assert_in_graphs(answer)
    assert answer["difference"] <= 4e-3
    assert answer["apart"] <= answer["float32_apart"] / 2, "not trained in float32"
    assert answer["ranks_apart"] == 0


@needs("deepspeed")
@pytest.mark.parametrize("ranks", [ON_ONE_RANK, ON_TWO_RANKS])
def test_a_module_that_deepspeed_makes_bfloat16_is_refused(
    request: pytest.FixtureRequest, ranks: str
) -> None:
    assert "bfloat16" in request.getfixturevalue(ranks)["deepspeed-refused"]


@needs("trainer-with-deepspeed")
def test_the_trainer_is_refused_where_deepspeed_leaves_no_place_for_an_ort_module(
    answers: Trained,
) -> None:
    assert "PyTorch would run everything" in answers["trainer-with-deepspeed"]


@needs("deepspeed")
@pytest.mark.parametrize("ranks", [ON_ONE_RANK, ON_TWO_RANKS])
def test_modules_partitioned_by_zero_3_run_in_pytorch(
    request: pytest.FixtureRequest, ranks: str
) -> None:
    """Around an ORTModule, around layers that are, and around one made under `zero.Init`."""
    answer = request.getfixturevalue(ranks)["deepspeed-3"]
    assert answer["difference"] <= 1e-6
    assert answer["ranks_apart"] == 0
    assert answer["graphs"] == 0
    assert [list(calls) for calls in answer["pytorch_calls"]] == [[PARTITIONED]] * 4
