"""State of on-device training beside the weights, in two files of a checkpoint."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from workbench.errors import EngineError, RunFolderError
from workbench.files.input_file import check_file
from workbench.files.json_file import read_json, write_json
from workbench.run_folder.records import check_record
from workbench.run_folder.statistics import Count

NATIVE_CHECKPOINT, STATE = "ondevice.checkpoint", "ondevice.json"
"""Files of a checkpoint: parameters and optimizer state, and the fields of `OnDeviceState`."""


class OnDeviceState(BaseModel):
    """Contents of ondevice.json."""

    model_config = ConfigDict(strict=True)

    batches: Count
    """Number of batches trained."""
    training_model: str | None = None
    """SHA-256 of the training model; None in checkpoints of older versions."""


def write_state(folder: Path, batches: int, training_model: str) -> None:
    """Write ondevice.json; the arguments are the fields of `OnDeviceState`."""
    state = OnDeviceState(batches=batches, training_model=training_model)
    write_json(folder / STATE, state.model_dump())


def read_state(folder: Path, training_model: str) -> OnDeviceState:
    """The state in a checkpoint folder.

    Args:
        folder: the checkpoint.
        training_model: SHA-256 of the training model that is to continue.

    Raises:
        EngineError: it is missing or corrupt, or another training model was trained.
    """
    path = check_file(folder / STATE, EngineError)
    try:
        content = read_json(path)
        check_record(OnDeviceState, content, path)
    except RunFolderError as error:
        raise EngineError(str(error)) from None
    state = OnDeviceState.model_validate(content)
    if state.training_model not in (None, training_model):
        raise EngineError(
            f"{folder} was written by a training from other artifacts than those of the run. Put "
            "back the artifacts that it was started with."
        )
    return state
