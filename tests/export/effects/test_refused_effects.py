"""Side effects of a module are refused on device, where PyTorch cannot run them."""

from __future__ import annotations

import pytest

from tests.answers import Answers, probed
from tests.representative import representative

REFUSED = {
    "attribute": "changes its attribute 'count'",
    "global-number": "changes the global variable 'TOTAL'",
    "closure": "changes the variable 'calls' of an enclosing function",
    "replaced-buffer": "replaces its buffer 'mean'",
    "data-of-buffer": "replaces its buffer 'mean' or writes it in a way that a graph does not see",
    "numpy-random": "changes the random generator of numpy",
    "data-of-argument": "changes an argument by .data or .detach()",
    "squeezed": "something else with a batch of one row than with more",
    "scaled-by-rows": "something else with a batch of one row than with more",
    "many-rows": "computes batches of more than 4 rows differently from others",
    "table-once": "",
}
"""By the case what is said; nothing where the graph does the same."""

USUAL = representative(REFUSED, always=("many-rows",))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return probed(
        "tests.export.effects.refused_effects_probe", tmp_path_factory.mktemp("a"), *USUAL
    )


@pytest.mark.parametrize("name", USUAL)
def test_side_effects_that_a_graph_would_lose_are_refused_by_name(
    name: str, answers: Answers
) -> None:
    said = answers[name]
    assert REFUSED[name] in said
    assert bool(said) == bool(REFUSED[name])
