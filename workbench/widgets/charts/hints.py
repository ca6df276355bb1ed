"""What charts say in place of curves, and above those of another model."""

from __future__ import annotations

EMPTY_HINT = "Choose a model and engines, then press Train."
READY_HINT = "Press Train."
COMPARING_HINT = "A comparison is in progress: see the step Compare."
DATA_HINT = "Choose a dataset in the step Model, then press Train."
UNFIT_HINT = "Choose data that fit the model, then press Train."
LOSS_HINT = "Choose a loss function that fits, then press Train."
WAITING_HINT = "The lines begin with the first step."
READING_HINT = "The recorded steps are being read …"
NOTHING_HINT = "No step was taken."


def results_in_runs(model: str) -> str:
    """Message in place of the results of another model."""
    return f"The results of {model} are among the recorded runs."


def other_model(shown: str, chosen: str) -> str:
    """Caption of charts that do not show the chosen model."""
    return f"These charts are of {shown}; {chosen} is chosen for the next run."


def deleted_run(engine: str) -> str:
    """Caption of charts of a run that was deleted."""
    return f"The run of {engine} was deleted; its charts are as read before."


def resumed_run(engine: str) -> str:
    """Caption of charts of a run that had ended and was resumed elsewhere."""
    return f"The run of {engine} was resumed elsewhere; its charts are as read before."
