"""The view of a federated run, from a record that is known to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runs.record.test_federation import DIVIDED, federated
from tests.runs.written import steps, write_run
from workbench.controller.jobs.outcome import outcome_of
from workbench.controller.jobs.training import Training
from workbench.controller.recorded_runs.run_detail import describe_run
from workbench.controller.restore import restored
from workbench.runs import Run
from workbench.widgets.train.federation_view import MOST_CLIENTS, FederationView
from workbench.widgets.train.trainer import Trainer


def test_a_federated_run_is_shown() -> None:
    classes = [{**DIVIDED[0], "classes": [15, 5]}, {**DIVIDED[1], "classes": [0, 10]}]
    view = FederationView()
    view.show(federated(divided=classes), ["cat", "dog"])
    assert view.heading == "2 clients, 3 rounds of fedavg"
    assert view.note.startswith(
        "batch 10, 1 local epoch, 50 % of the clients in a round; simulated"
    )
    assert (view.measure, view.total_rounds, view.delta) == ("accuracy", 3, 0)
    assert view.classes == ["cat", "dog"]
    assert view.clients == [
        {"rows": 20, "test_rows": 4, "classes": [15, 5]},
        {"rows": 10, "test_rows": 2, "classes": [0, 10]},
    ]
    rounds = np.frombuffer(view.rounds, np.float32).reshape(10, -1)
    np.testing.assert_array_equal(rounds[0], [1, 2])
    np.testing.assert_array_equal(rounds[1], [np.nan, 0.5])
    lines = np.frombuffer(view.line_values, np.float32).reshape(2, -1)
    np.testing.assert_array_equal(lines, [[0.5, 0.5], [np.nan, 0.5]])
    states = np.frombuffer(view.states, np.float32).reshape(3, -1)
    np.testing.assert_array_equal(states, [[0.5, 0.5], [2, 1], [0, 1]])
    assert view.left_out == [{"round": 1, "client": 1, "reason": "it was not there"}]
    view.show(write_run("plain", [steps(1, [1.0])], {"status": "completed"}))
    assert view.heading == "", "another run is none"


def test_epsilon_is_shown_where_there_is_privacy() -> None:
    view = FederationView()
    view.show(federated(privacy="local", spent=True))
    assert view.delta == 1e-5
    assert np.frombuffer(view.rounds, np.float32).reshape(10, -1)[9].tolist() == [4.5, 9.0]


def test_only_the_first_of_many_clients_are_listed() -> None:
    view = FederationView()
    view.show(federated(clients=300, divided=[DIVIDED[0]] * 300))
    assert (len(view.clients), view.client_count) == (MOST_CLIENTS, 300)
    assert len(np.frombuffer(view.states, np.float32)) == 3 * MOST_CLIENTS


def test_the_step_train_shows_the_rounds_as_they_come() -> None:
    step = Trainer()
    try:
        view = step.controller.views
        run = federated()
        view.job_started(Training.of(run))
        assert step.federation.heading
        assert step.charts.step_name == "round"
        assert step.federation.rounds == b""
        view.add_points(run.engine, run.follow().poll())
        view.job_ended(Training.of(run))
        assert len(step.federation.rounds) == 10 * 2 * 4
        assert step.evaluation.evaluations[0]["when"] == "after round 2"
        view.job_started(Training.of(write_run("a", [steps(1, [1.0])], {"status": "completed"})))
        assert step.federation.heading == ""
        assert step.charts.step_name == "step"
    finally:
        step.close()


@pytest.mark.fault
def test_a_federated_run_whose_dataset_is_gone_is_shown_with_class_numbers() -> None:
    detail = describe_run(federated())
    assert detail.federated is not None
    assert detail.points is None, "its rounds are shown in its place"
    assert detail.classes == ()


def test_a_federated_run_is_described_by_its_rounds() -> None:
    spec = federated().spec
    folder = federated().folder
    folder.write_spec({**spec, "config": {**spec["config"], "steps": 3}})
    run = Run(folder)
    detail = describe_run(run)
    assert detail.heading.startswith("model-federated · pytorch, 2 clients · ")
    assert ("Rounds", "2 of 3") in detail.facts
    assert ("Federation", "fedavg, rows divided by by hand") in detail.facts
    assert "steps" not in dict(detail.settings)
    assert "steps" not in restored(run).settings
    assert outcome_of(run).startswith("Trained model-federated on pytorch, 2 clients: 2 rounds")
