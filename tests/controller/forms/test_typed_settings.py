"""What is read of typed settings while a change is told to observers."""

from __future__ import annotations

import threading

from tests.processes import PATIENCE_S
from workbench.controller.forms.typed_settings import TypedSettings
from workbench.controller.setup import Setup
from workbench.load import load_model


def test_who_reads_does_not_wait_for_an_observer() -> None:
    """A task that told of its progress held a lock that an observer waited for."""
    typed, model = TypedSettings(Setup()), load_model("digits-mlp")
    typed.know(model)
    typed.set(requires_grad=["output.*"])
    told, released = threading.Event(), threading.Event()

    def observer() -> None:
        told.set()
        released.wait(PATIENCE_S)

    typed.observe(observer)
    change = threading.Thread(target=lambda: typed.type("epochs", "-1"))
    change.start()
    assert told.wait(PATIENCE_S)
    found: list[object] = []

    def read() -> None:
        found.extend([typed.ready_text, typed.trained.names, typed.problems, typed.wrong()])

    reader = threading.Thread(target=read)
    reader.start()
    reader.join(10)
    alive = reader.is_alive()
    released.set()
    change.join()
    assert not alive
    assert found == [
        ", with 2 of 6 parameters trained",
        frozenset({"output.weight", "output.bias"}),
        {"epochs": "Must be 1 or more."},
        ["Epochs"],
    ]


def test_a_loss_is_that_of_the_model_that_it_was_chosen_for() -> None:
    typed = TypedSettings(Setup())
    typed.know(load_model("digits-autoencoder"))
    typed.set(loss="l1", learning_rate=0.5)
    typed.know(None)
    typed.know(load_model("breast-cancer-mlp"))
    assert typed.texts == {"learning_rate": "0.5"}
    typed.set(loss="mse")
    typed.know(None)
    typed.know(load_model("breast-cancer-mlp"))
    assert typed.texts["loss"] == "mse", "it is the same model"


def test_the_default_batch_is_no_larger_than_the_data() -> None:
    typed = TypedSettings(Setup())
    typed.know_data(6)
    said = "There are 6 training rows, fewer than a batch of 32: give at most that."
    assert typed.problems == {"batch_size": said}
    typed.type("batch_size", "6")
    assert typed.problems == {}


def test_what_a_comparison_alone_uses_stays_where_the_settings_of_a_run_are_restored() -> None:
    typed = TypedSettings(Setup())
    typed.set(comparison_steps=50, epochs=3)
    typed.replace({"learning_rate": 0.1})
    assert typed.texts == {"comparison_steps": "50", "learning_rate": "0.1"}
