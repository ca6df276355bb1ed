"""An engine on two ranks computes what it computes in one process (ranks_probe.py).

In `make test` whole runs do so: tests/ranks and the notebook on scale-out.
"""

from __future__ import annotations

import pytest

from tests.answers import Answers, probed

pytestmark = pytest.mark.sweep
ENGINES = ("pytorch", "ortmodule")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return probed("tests.engines.data_parallel.ranks_probe", tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("engine", ENGINES)
def test_two_ranks_train_as_one_process(answers: Answers, engine: str) -> None:
    """With weights of the classes, and labels that are ignored: all of a rank's in some batches."""
    answer = answers[engine]
    assert answer["fell"] > 0.1
    assert answer["loss"] <= 1e-5
    assert answer["weights"] <= 1e-5
    if engine == "ortmodule":
        assert (answer["graphs"], answer["pytorch_calls"]) == (1, {})


def test_steps_run_the_graphs_that_were_built_ahead(answers: Answers) -> None:
    """Two pieces; built outside of data-parallel training, it would be a whole graph."""
    assert answers["pieces"] == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_each_rank_continues_its_random_draws(answers: Answers, engine: str) -> None:
    assert answers[f"{engine}-resumed"]["weights"] == 0


def test_ranks_do_not_draw_the_same(answers: Answers) -> None:
    first, second = answers["draws"]
    assert first != second


def test_results_computed_across_rows_are_refused(answers: Answers) -> None:
    assert "layer '1' is a BatchNorm1d" in answers["normalized"]
    assert "computes buffer 'mean' from the rows" in answers["centred"]
    assert "depends on the other rows of its batch" in answers["shifted"]


def test_a_checkpoint_is_refused_once_the_ranks_differ(answers: Answers) -> None:
    """After the first step they did not."""
    assert "computes buffer 'mean' from the rows" in answers["centred-later"]


def test_buffers_of_any_type(answers: Answers) -> None:
    assert answers["tables"]["loss"] <= 1e-5
    assert answers["tables"]["weights"] <= 1e-5
