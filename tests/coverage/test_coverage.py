"""Every case of the table, under both engines, beside PyTorch; and the document made from it."""

from __future__ import annotations

import pytest

from tests.coverage.document import DOCUMENT, listed
from tests.coverage.measure import ENGINES, Found, complaint, measure
from tests.coverage.table import CASES, GROUPS, representatives

CHOSEN = representatives()


@pytest.fixture(scope="module")
def found() -> Found:
    return measure(CHOSEN, every_variant=False)


@pytest.fixture(scope="module")
def everything() -> Found:
    return measure(list(CASES), every_variant=True)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CHOSEN)
def test_trains_as_pytorch_does(name: str, engine: str, found: Found) -> None:
    assert not complaint(CASES[name], engine, found[name])


@pytest.mark.sweep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_trains_as_pytorch_does_at_every_shape(name: str, engine: str, everything: Found) -> None:
    assert not complaint(CASES[name], engine, everything[name])


def test_no_two_cases_have_one_name() -> None:
    assert len(CASES) == sum(len(cases) for cases in GROUPS.values())


def test_the_document_lists_the_cases_of_the_table() -> None:
    expected = {group: [case.name for case in cases] for group, cases in GROUPS.items()}
    assert listed(DOCUMENT.read_text()) == expected, "python -m tests.coverage writes it again"


def test_the_document_says_what_is_refused() -> None:
    text = DOCUMENT.read_text()
    for case in CASES.values():
        for refusal in case.refusals.values():
            assert refusal in text, "python -m tests.coverage writes it again"
