"""Every way of using a module, with the plain module and with an ORTModule: the same comes out.

And what an ORTModule refuses, which leaves the module as it was.

All of it runs once in a process of its own (usage_probe.py); the tests read what came out.
"""

from __future__ import annotations

import pytest

from tests.answers import Answers, probed
from tests.ort.ortmodule.calls.refusal_cases import CASES as REFUSED
from tests.ort.ortmodule.calls.usage_cases import CASES
from tests.representative import representative

PROBE = "tests.ort.ortmodule.calls.usage_probe"

WARNED = {
    "submodule-hooks": "the hook that is registered on '0' would not run",
    "changed-arguments": "it changes an argument in place",
    "averaged-statistics": "a BatchNorm was changed to a cumulative average",
}
"""Cases of which some calls run in PyTorch, and what is said of it."""

CHANGES = {
    # Takes a step before it does what is refused.
    "changed-parameter": {"0.weight", "0.bias", "2.weight", "2.bias", "random"},
    "changed-frozen-parameter": {"2.weight", "2.bias", "random"},
    "changed-buffer": {"mask", "random"},
    "backward-twice": {"random"},
    # The plain module leaves that behind as well.
    "raises": {"norm.running_mean", "norm.running_var", "norm.num_batches_tracked", "random"},
    "synchronized-statistics": {"1.num_batches_tracked", "random"},
    "synchronized-later": {"1.running_mean", "1.running_var", "1.num_batches_tracked", "random"},
}

USUAL = list(
    representative(
        {name: case for name, case in CASES.items() if not case.sweep},
        every=12,
        always=(
            *("autocast-products", "autocast-loss", "saved-elsewhere", "moved-parameters"),
            *("changed-numbers", "traced-results", "averaged-statistics", "one-result"),
            *("threads", "traced-broadcast"),
        ),
    )
)
REFUSALS = representative(REFUSED, always=CHANGES)
SWEPT = [name for name, case in CASES.items() if case.sweep]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """The answers of the usual cases and of the refusals."""
    refused = [f"refused:{name}" for name in REFUSALS]
    return probed(PROBE, tmp_path_factory.mktemp("usage"), *USUAL, *refused)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """The answers of the other cases."""
    return probed(PROBE, tmp_path_factory.mktemp("usage"), *SWEPT)


@pytest.mark.parametrize("name", USUAL)
def test_a_use_of_ortmodule_equals_the_plain_module(name: str, answers: Answers) -> None:
    check(name, answers)


@pytest.mark.sweep
@pytest.mark.parametrize("name", SWEPT)
def test_further_uses_do_so_too(name: str, swept: Answers) -> None:
    check(name, swept)


def check(name: str, answers: Answers) -> None:
    answer = answers[name]
    assert "error" not in answer, answer["error"]
    assert not answer["unequal"]
    tolerance = CASES[name].tolerance
    assert answer["difference"] <= tolerance, f"{answer['difference']} at {answer['at']}"
    assert answer["graphs"] == CASES[name].graphs, f"PyTorch ran {answer['pytorch_calls']}"
    ours = [text for text in answer["warnings"] if "ORTModule" in text]
    assert len(ours) == (name in WARNED), ours
    assert WARNED.get(name, "") in "".join(ours)


@pytest.mark.parametrize("name", REFUSALS)
def test_unsupported_uses_are_refused_and_change_nothing(name: str, answers: Answers) -> None:
    answer = answers[f"refused:{name}"]
    assert "error" not in answer, answer["error"]
    missing = [word for word in REFUSED[name].words if word not in answer["message"]]
    assert not missing, f"{missing} not in: {answer['message']}"
    assert set(answer["changed"]) <= CHANGES.get(name, {"random"})
