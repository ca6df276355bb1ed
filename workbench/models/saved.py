"""`load_saved`: the model that `Model.save` wrote, as a worker opens it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.errors import ModelError, RunFolderError
from workbench.models.model import FORMAT_VERSION, WEIGHTS_FILE, Model
from workbench.models.sources.factory import FactorySource
from workbench.models.sources.memory import MemorySource
from workbench.models.sources.onnx import OnnxSource
from workbench.models.sources.sample import SampleSource
from workbench.models.sources.source import Source
from workbench.run_folder.records import read_json
from workbench.settings.config import read_config

SOURCES: dict[str, type[Source]] = {
    source.kind: source for source in (SampleSource, MemorySource, FactorySource, OnnxSource)
}


def load_saved(folder: Path) -> Model:
    """The model saved in `folder`. Loads neither torch nor onnx before it must.

    Nothing that the record names is imported or unpickled, now or when the model is built, but in a
    worker for which the process that saved the model named that very code.

    Raises:
        ModelError: `folder` is no saved model, is damaged, or is from a newer version.
    """
    folder = Path(folder)
    record = _read_record(folder)
    initial = None
    if (folder / WEIGHTS_FILE).exists():
        from workbench.run_folder.checkpoint import read_weights

        try:
            initial = read_weights(folder)
        except RunFolderError as error:
            raise ModelError(str(error)) from None
    try:
        read_config(record["defaults"])
        _check_seed(record["source"].get("seed", 0))
        return Model(
            SOURCES[record["kind"]].read(folder, record["source"]),
            name=record["name"],
            card=record["card"],
            defaults=record["defaults"],
            dataset=record["dataset"],
            initial=initial,
        )
    except ModelError:
        raise
    except Exception as error:  # what numpy raises for a damaged array is of many kinds
        raise ModelError(f"{folder} is not a readable saved model: {error!r}.") from error


def _check_seed(seed: object) -> None:
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise ValueError(f"seed={seed!r}")


def _read_record(folder: Path) -> dict[str, Any]:
    path = folder / "model.json"
    try:
        record = read_json(path)
    except FileNotFoundError:
        raise ModelError(f"{folder} is not a saved model: it has no model.json.") from None
    except RunFolderError as error:
        raise ModelError(str(error)) from None
    version = record.get("format")
    if not isinstance(version, int):
        raise ModelError(f"{path} says no format version; it is not a saved model's.")
    if version > FORMAT_VERSION:
        raise ModelError(
            f"{folder} was written by a newer workbench (format {version}; this one reads up to "
            f"{FORMAT_VERSION}). Upgrade the workbench to open it."
        )
    return record
