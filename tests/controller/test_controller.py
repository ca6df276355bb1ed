"""The controller without widgets: what it does and tells, on real runs of the fake engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import workbench as wb
from tests.controller.recording_view import PATIENCE_S, RecordingView, until
from tests.processes import own_threads
from tests.runs import recorded
from tests.runs.written import write_run
from workbench.controller import Controller, Setup
from workbench.controller.background.footprint_predictor import PROFILE_ENDED
from workbench.controller.jobs.comparison_job import ComparisonJob
from workbench.controller.jobs.job import Job
from workbench.controller.jobs.training import Training
from workbench.controller.model.sources import Sources
from workbench.controller.state import (
    IN_PROGRESS,
    PREPARING,
    STOPPED_EARLY,
    State,
    failure,
)
from workbench.controller.view import View
from workbench.errors import ConfigError
from workbench.models import Model

Make = Callable[..., tuple[Controller, RecordingView]]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes controllers of the fake engine, which behaves as the keywords say."""
    made: list[Controller] = []

    def one(model: str = "digits-mlp", **behaviour: Any) -> tuple[Controller, RecordingView]:
        monkeypatch.setenv("WORKBENCH_FAKE", json.dumps(behaviour))
        view = RecordingView()
        controller = Controller(view, Setup(engines=["fake"]))
        made.append(controller)
        if model:
            controller.choose_model(model)
        return controller, view

    yield one
    for controller in made:
        controller.stop()
        controller.wait(PATIENCE_S)
        controller.close()


def test_a_chosen_model_brings_its_settings_card_and_layers(make: Make) -> None:
    controller, view = make()
    ready = "digits-mlp is ready. Press Train or Compare."
    until(lambda: view.layers and controller.state.message == ready)
    defaults = wb.load_model("digits-mlp").defaults
    assert controller.typed.defaults == defaults
    assert controller.setup.settings == {}
    assert [model.name for model in view.models if model] == ["digits-mlp"]
    assert sum(row.layer.parameters for row in view.layers or ()) == 17226
    controller.choose_model("")
    until(lambda: view.models[-1] is None and view.layers is None)


def test_a_dataset_that_does_not_fit_is_reported_before_training(make: Make) -> None:
    controller, view = make()
    ready = "digits-mlp is ready. Press Train or Compare."
    until(lambda: controller.state.message == ready)
    controller.choose_dataset("breast-cancer")
    until(lambda: "but the rows of dataset" in controller.state.message)
    preview, problem = view.data[-1]
    assert preview is not None, "its rows are shown all the same"
    assert problem == controller.state.message
    assert controller.state.level == "error"
    controller.choose_dataset("")
    until(lambda: controller.state.message == ready)
    # Data of a sample are not those of a model that cannot be loaded.
    assert view.data[-1][0] is not None
    controller.choose_model("no-such-model")
    until(lambda: view.data[-1] == (None, ""))
    assert "No model 'no-such-model'" in controller.state.message
    controller.choose_model("digits-mlp")
    until(lambda: controller.state.message == ready)
    # A loss that is chosen later may not suit the target.
    controller.typed.set(loss="mse")
    until(lambda: "mse" in controller.state.message)
    controller.typed.set(loss=None)
    until(lambda: controller.state.message == ready)


def test_the_result_of_a_job_stays_until_something_is_wrong(make: Make) -> None:
    controller, view = make()
    # Typed settings are read again once the model's are known: what was set before would be lost.
    until(lambda: view.layers and "digits-mlp is ready" in controller.state.message)
    controller.setup.settings["steps"] = 1
    controller.train()
    assert controller.wait(PATIENCE_S)
    outcome = controller.state.message
    controller.estimate()
    assert controller.artifacts._thread.wait(PATIENCE_S)
    assert controller.state.message == outcome
    controller.setup.settings["requires_grad"] = ("no.such",)
    controller.estimate()
    until(lambda: "matches no parameter" in controller.state.message)
    del controller.setup.settings["requires_grad"]
    # What is predicted trains on device, in one process, whatever the chosen engine does.
    controller.setup.settings["processes"] = 2
    controller.estimate()
    until(lambda: "digits-mlp is ready" in controller.state.message)


def test_an_error_while_figures_are_drawn_is_reported(make: Make) -> None:
    controller, view = make()
    wrong = "but the rows of dataset"

    def make_figures(_: Job) -> None:
        controller.choose_dataset("breast-cancer")
        until(lambda: wrong in controller.state.message)

    view.job_ended = make_figures  # type: ignore[method-assign]
    controller.setup.settings["steps"] = 1
    controller.train()
    assert controller.wait(PATIENCE_S)
    assert (controller.state.status, wrong in controller.state.message) == ("idle", True)
    controller.choose_dataset("")
    until(lambda: "digits-mlp is ready" in controller.state.message)


def test_the_states_of_a_training_are_reported_from_start_to_end(make: Make) -> None:
    controller, view = make()
    until(lambda: view.layers)
    controller.setup.settings["epochs"] = 2
    controller.train()
    assert controller.wait(PATIENCE_S)
    [job] = view.ended
    assert view.started == view.ended
    assert view.steps["fake"] == list(range(1, view.total_steps + 1))
    assert view.losses["fake"][-1] < view.losses["fake"][0]
    statuses = list(dict.fromkeys(state.status for state in view.states))
    assert statuses[0] == "idle"
    assert statuses[1] == "starting"
    assert statuses[-1] == "completed"
    last = view.states[-1]
    assert (last.status, last.level, last.progress) == ("idle", "done", 1.0)
    assert last.message.startswith("Trained digits-mlp on fake: ")
    assert last.message == job.outcome
    assert not last.active


def held(monkeypatch: pytest.MonkeyPatch, name: str) -> tuple[threading.Event, threading.Event]:
    """Two events: the model `name` is being loaded; and it may be now."""
    loading, may_load = threading.Event(), threading.Event()
    load = Sources.model

    def slow(self: Sources, source: str, example_inputs: str = "") -> Model:
        if source == name:
            loading.set()
            assert may_load.wait(PATIENCE_S)
        return load(self, source, example_inputs)

    monkeypatch.setattr(Sources, "model", slow)
    return loading, may_load


def test_the_model_that_is_trained_is_the_one_chosen_when_train_was_pressed(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading, may_load = held(monkeypatch, "digits-mlp")
    controller, view = make(model="")
    controller.setup.settings["steps"] = 1
    controller.setup.model = "digits-mlp"
    controller.train()
    assert loading.wait(PATIENCE_S)
    controller.choose_model("digits-cnn")
    may_load.set()
    assert controller.wait(PATIENCE_S)
    [job] = view.ended
    assert isinstance(job, Training)
    assert [run.spec["model"] for run in job.runs.values()] == ["digits-mlp"]


def test_a_given_model_is_trained_although_another_is_chosen_next(make: Make) -> None:
    controller, view = make(model="")
    controller.setup.settings["steps"] = 1
    given = wb.load_model("digits-mlp")
    given.name = "of-my-own"  # no text loads it again
    started = threading.Event()
    controller._requests.ask(lambda: started.wait(PATIENCE_S) and None)
    controller.choose_model(given)
    controller.setup.dataset = "digits"
    controller.train()
    controller.choose_model("digits-cnn")
    until(lambda: [model.name for model in view.models if model][-1:] == ["digits-cnn"])
    started.set()
    assert controller.wait(PATIENCE_S)
    assert [job.runs["fake"].spec["model"] for job in view.ended] == ["of-my-own"]


def test_a_model_typed_later_is_shown_while_the_one_before_is_still_loading(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading, may_load = held(monkeypatch, "digits-mlp")
    controller, view = make()
    assert loading.wait(PATIENCE_S)
    controller.choose_dataset("digits")
    until(lambda: view.data)
    until(lambda: controller.state.message == "Loading digits-mlp …")
    controller.choose_model("digits-cnn")
    until(lambda: "digits-cnn is ready" in controller.state.message)
    abandoned = [each for each in threading.enumerate() if each.name == "workbench-load-model"]
    may_load.set()
    for thread in abandoned:
        thread.join(PATIENCE_S)
    assert controller._models._thread.wait(PATIENCE_S)
    assert [model.name for model in view.models if model] == ["digits-cnn"]
    assert "digits-cnn is ready" in controller.state.message
    assert controller.typed.defaults == wb.load_model("digits-cnn").defaults


def test_what_a_model_raises_that_nobody_wants_any_more_is_not_shown(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading, may_load = held(monkeypatch, "no-such-model")
    before = set(threading.enumerate())
    controller, view = make(model="no-such-model")
    assert loading.wait(PATIENCE_S)
    own = set(threading.enumerate()) - before
    [abandoned] = [each for each in own if each.name == "workbench-load-model"]
    controller.choose_model("digits-cnn")
    until(lambda: "digits-cnn is ready" in controller.state.message)
    may_load.set()
    abandoned.join(PATIENCE_S)
    assert controller._models._thread.wait(PATIENCE_S)
    assert [model.name for model in view.models if model] == ["digits-cnn"]
    assert not [state for state in view.states if state.level == "error"]


def test_artifacts_and_a_profile_of_a_model_that_was_left_are_not_shown(make: Make) -> None:
    controller, view = make()
    until(lambda: view.layers)
    shown: list[tuple[str, Any, str]] = []

    class Leaving(View):
        """Chooses another model as soon as work for the first one is under way."""

        def show_prediction(self, prediction: Any, doing: str = "", problem: str = "") -> None:
            shown.append(("artifacts", prediction, doing or problem))
            controller.choose_model("digits-cnn")

        def show_profile(self, profile: Any, doing: str = "", problem: str = "") -> None:
            shown.append(("profile", profile, doing or problem))
            controller.choose_model("digits-mlp")

    controller.views.add(Leaving())
    for name, begin, then in (
        ("artifacts", controller.predict, "digits-cnn"),
        ("profile", controller.profile, "digits-mlp"),
    ):
        shown.clear()
        begin()
        until(lambda then=then: view.models[-1] and view.models[-1].name == then)
        assert controller.artifacts._thread.wait(PATIENCE_S)
        assert shown == [(name, None, "loading the model and its data")]


def test_a_run_ends_a_profile_that_it_would_disturb(make: Make) -> None:
    controller, view = make()
    until(lambda: view.layers)
    controller.typed.set(epochs=1)
    shown: list[tuple[Any, str, str]] = []

    class Profiled(View):
        def show_profile(self, profile: Any, doing: str = "", problem: str = "") -> None:
            shown.append((profile, doing, problem))

    controller.views.add(Profiled())
    controller.profile()
    until(lambda: shown)
    controller.train()
    until(lambda: view.started)
    assert shown[-1] == (None, "", PROFILE_ENDED)
    assert controller.artifacts._thread.wait(PATIENCE_S)
    assert controller.wait(PATIENCE_S)
    assert shown[-1] == (None, "", PROFILE_ENDED)
    assert [job.failed for job in view.ended] == [False]


def test_a_stop_while_the_model_is_loaded_does_not_wait_for_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading, may_load = held(monkeypatch, "digits-mlp")
    controller, view = make()
    assert loading.wait(PATIENCE_S)
    controller.train()
    until(lambda: controller.state.message.startswith("Preparing the model"))
    controller.choose_dataset("digits")
    until(lambda: view.data)
    assert controller.state.message.startswith("Preparing the model"), "nothing else can be done"
    controller.stop()
    assert controller.wait(PATIENCE_S)
    assert STOPPED_EARLY in view.states, "then that the model of the page is still being loaded"
    may_load.set()
    assert not view.started


def test_pause_resume_and_stop(make: Make) -> None:
    controller, view = make(step_ms=10)
    controller.setup.settings["epochs"] = 1000
    controller.train()
    until(lambda: len(view.steps.get("fake", ())) > 3)
    controller.pause()
    until(lambda: controller.state.status == "paused")
    controller.resume()
    held = len(view.steps["fake"])
    until(lambda: len(view.steps["fake"]) > held + 3)
    assert controller.state.active
    controller.stop()
    assert controller.wait(PATIENCE_S)
    assert controller.state.message.startswith("Stopped digits-mlp on fake at step ")
    assert controller.state.detail.endswith(" s, pauses included")


def test_a_comparison_is_a_job_with_its_figures(make: Make) -> None:
    controller, view = make()
    controller.setup.comparison_steps = 40
    controller.compare()
    assert controller.wait(PATIENCE_S)
    [job] = view.ended
    assert isinstance(job, ComparisonJob)
    assert job.comparison.table().loc["fake", "status"] == "completed"
    assert view.steps["fake"] == list(range(1, 41))


def test_there_is_one_job_at_a_time(make: Make) -> None:
    controller, view = make(step_ms=10)
    controller.setup.settings["epochs"] = 1000
    controller.train()
    controller.compare()
    until(lambda: len(view.steps.get("fake", ())) > 3)
    assert len(view.started) == 1
    [job] = view.started
    assert controller.resume_refusal(job.runs["fake"]) == "", "it may be paused"
    other = write_run("other", [], {"status": "stopped"})
    assert controller.resume_refusal(other) == IN_PROGRESS
    controller.stop()
    assert controller.wait(PATIENCE_S)
    assert controller.resume_refusal(other) == ""


def test_a_job_asked_for_while_the_figures_of_the_last_are_made_is_prepared_at_once(
    make: Make,
) -> None:
    """A press showed nothing until then: seconds, where the figures are the first of a process."""
    controller, view = make()
    making, made = threading.Event(), threading.Event()
    keep = view.job_ended

    def make_figures(job: Job) -> None:
        making.set()
        assert made.wait(PATIENCE_S)
        keep(job)

    view.job_ended = make_figures  # type: ignore[method-assign]
    controller.compare()
    assert making.wait(PATIENCE_S)
    controller.setup.comparison_steps = 5
    controller.compare()
    preparing = PREPARING._replace(compares=True)
    assert controller.state == preparing
    made.set()
    assert controller.wait(PATIENCE_S)
    assert len(view.ended) == 2, "that of the next one is waited for"
    assert controller.state.message.startswith("Compared fake")
    asked = view.states.index(preparing, view.states.index(preparing) + 1)
    until(lambda: not view.states[-1].active)
    assert all(state.active for state in view.states[asked:-1]), view.states[asked:]


def test_an_error_at_the_start_is_reported_and_leaves_no_job(make: Make) -> None:
    controller, view = make(model="")
    for change, sentence in (
        (lambda: None, "No model is chosen"),
        (lambda: controller.choose_model("digits-mpl"), "Did you mean 'digits-mlp'"),
        (lambda: controller.choose_model("digits-mlp"), "choose at least one engine"),
    ):
        controller.setup.engines = []
        change()
        controller.train()
        assert controller.wait(PATIENCE_S)
        assert (controller.state.status, controller.state.level) == ("idle", "error")
        assert sentence in controller.state.message
    assert view.failures == 3
    assert view.started == []


def test_a_refusal_stays_until_something_else_is_wrong(make: Make) -> None:
    controller, view = make()
    until(lambda: "digits-mlp is ready" in controller.state.message)

    def show(state: State) -> None:
        if state.level == "error":  # a dataset is found to fit at that moment
            controller.readiness.update()

    view.show_state = show  # type: ignore[method-assign]
    controller.setup.engines = []
    controller.train()
    assert controller.wait(PATIENCE_S)
    assert "choose at least one engine" in controller.state.message
    controller.typed.set_defaults({"batch_size": 8})  # of a model that is loaded later
    assert "choose at least one engine" in controller.state.message
    controller.typed.choose_engines(["fake"])
    assert "digits-mlp is ready" in controller.state.message


def test_the_message_follows_what_is_typed(make: Make) -> None:
    """It does not say "ready" beside a tab that says what is wrong, nor repeat what is mended."""
    controller, _ = make()
    ready = "digits-mlp is ready. Press Train or Compare."
    until(lambda: controller.state.message == ready)
    controller.typed.type("epochs", "-1")
    wrong = "1 setting is wrong: Epochs -1 (in Train). Must be 1 or more."
    assert controller.state.message == f"{wrong} Compare does not use it."
    controller.typed.type("quiet_s", "soon")
    labels = "Epochs (in Train); Wait for idle machine (s) (in Compare)"
    wrong = f"2 settings are wrong: {labels}. Each field says why."
    assert controller.state.message == wrong
    controller.train()
    assert controller.wait(PATIENCE_S)
    assert (
        controller.state.message == "1 setting is wrong: Epochs -1 (in Train). Must be 1 or more."
    )
    controller.compare()
    assert controller.wait(PATIENCE_S)
    assert "Wait for idle machine (s)" in controller.state.message
    assert len(wb.runs()) == 0
    for name in ("quiet_s", "epochs"):
        controller.typed.type(name, "")
    assert controller.state.message == ready


def test_a_wrong_setting_is_told_in_place_of_a_result_until_it_is_mended(make: Make) -> None:
    controller, _ = make()
    controller.typed.set(steps=2)
    until(lambda: controller.state.message.endswith("Press Train or Compare."))
    controller.train()
    assert controller.wait(PATIENCE_S)
    result = controller.state
    assert result.message.startswith("Trained digits-mlp")
    controller.typed.type("quiet_s", "soon")
    wrong = "1 setting is wrong: Wait for idle machine (s) (in Compare). 'soon' is not a number"
    assert controller.state.message.startswith(wrong)
    assert controller.state.message.endswith(" Train does not use it.")
    controller.typed.type("quiet_s", "")
    assert controller.state == result


def test_the_result_comes_back_when_what_was_refused_is_mended(make: Make) -> None:
    controller, _ = make()
    controller.typed.set(steps=2)
    until(lambda: controller.state.message.endswith("Press Train or Compare."))
    controller.train()
    assert controller.wait(PATIENCE_S)
    result = controller.state
    controller.typed.type("quiet_s", "soon")
    controller.compare()
    assert controller.wait(PATIENCE_S)
    assert controller.state.level == "error"
    controller.typed.type("quiet_s", "")
    assert controller.state == result


def test_a_wrong_setting_is_told_after_a_stop_too(make: Make) -> None:
    controller, _ = make()
    controller.typed.set(steps=100_000)
    until(lambda: controller.state.message.endswith("Press Train or Compare."))
    controller.train()
    until(lambda: controller.state.status == "running")
    controller.stop()
    assert controller.wait(PATIENCE_S)
    assert controller.state.message.startswith("Stopped digits-mlp")
    controller.typed.type("quiet_s", "soon")
    assert controller.state.message.startswith("1 setting is wrong")


@pytest.mark.fault
def test_settings_that_a_later_engine_refuses_are_reported_before_the_first_trains(
    make: Make,
) -> None:
    controller, view = make(model="")
    controller.choose_model(recorded.model())  # from ONNX alone, which pytorch cannot train
    until(lambda: "needs a dataset" in controller.state.message)  # it is loaded
    controller.setup.dataset = "digits"
    controller.setup.engines = ["fake", "pytorch"]
    controller.train()
    assert controller.wait(PATIENCE_S)
    assert "Engine 'pytorch' needs an nn.Module" in controller.state.message
    assert view.started == []
    assert len(wb.runs()) == 0


def test_a_view_that_fails_at_the_end_leaves_the_controller_usable(make: Make) -> None:
    controller, view = make()

    def fail(_: object) -> None:
        raise OSError("no disk")

    view.job_ended = fail  # type: ignore[method-assign]
    controller.compare()
    until(lambda: controller.state.level == "error")
    assert "OSError: no disk" in controller.state.message
    assert controller.state.status == "idle"


def test_the_engines_are_listed_when_asked_for(make: Make) -> None:
    controller, view = make(model="")
    assert view.engines == []
    controller.list_engines()
    until(lambda: view.engines)
    assert {"pytorch", "fake"} <= {row["name"] for row in view.engines}


def test_close_ends_its_threads(make: Make) -> None:
    before = own_threads()
    controller, view = make()
    until(lambda: view.layers)
    own = own_threads() - before
    assert {"workbench-page", "workbench-model"} <= {thread.name for thread in own}
    controller.close()
    until(lambda: not own & own_threads())
    assert controller.wait(PATIENCE_S), "nobody waits for a controller that is closed"


def test_an_error_is_reported_by_its_message_or_its_type() -> None:
    state = failure(ConfigError(["epochs=-1: too few."]))
    assert state.message == "1 setting is wrong:\n  - epochs=-1: too few."
    assert failure(KeyError("x")).message == "Unexpected error: KeyError: 'x'"


PROGRAM = """
import sys
for name in ("anywidget", "ipywidgets", "traitlets", "IPython"):
    sys.modules[name] = None  # importing it fails
from tests.controller.recording_view import RecordingView
from workbench.controller import Controller, Setup
view = RecordingView()
controller = Controller(view, Setup(engines=["fake"], comparison_steps=20))
controller.choose_model("digits-mlp")
controller.compare()
assert controller.wait(90)
print(controller.state.message)
controller.close()
"""


@pytest.mark.sweep
def test_it_works_where_no_widgets_are_installed() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, "WORKBENCH_FAKE": "{}"},
        check=False,
    )
    assert done.stdout.splitlines()[:1] == ["Compared fake on digits-mlp."], done.stderr


def test_the_result_of_a_run_that_is_shown_stays_while_its_model_is_loaded(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = wb.train("digits-mlp", engine="fake", steps=2).wait(PATIENCE_S)
    loading, may_load = held(monkeypatch, "digits-mlp")
    controller, view = make()
    assert loading.wait(PATIENCE_S)
    controller.show(run)
    assert controller.wait(PATIENCE_S)
    until(lambda: controller.state.message.startswith("Trained digits-mlp"))
    controller.readiness.show_data(None)  # as of a dataset that was chosen before
    assert controller.state.message.startswith("Trained digits-mlp")
    may_load.set()
    until(lambda: view.layers and view.data)
    assert controller._models._thread.wait(PATIENCE_S)  # all that there is to show was shown
    assert controller.state.message.startswith("Trained digits-mlp")
