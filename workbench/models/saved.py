"""`load_saved`: loads a model that `Model.save` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.errors import ModelError, RunFolderError
from workbench.files.format_version import refuse_newer_format
from workbench.files.json_file import read_json
from workbench.models.model import FORMAT_VERSION, WEIGHTS_FILE, Model
from workbench.models.sources.factory import FactorySource
from workbench.models.sources.memory import MemorySource
from workbench.models.sources.onnx import OnnxSource
from workbench.models.sources.sample import SampleSource
from workbench.models.sources.source import Source
from workbench.settings.config import read_config

SOURCES: dict[str, type[Source]] = {
    source.kind: source for source in (SampleSource, MemorySource, FactorySource, OnnxSource)
}


def load_saved(folder: Path) -> Model:
    """Load the model saved in `folder`; torch and onnx are only imported on use.

    The folder is untrusted: code that it names is neither imported nor unpickled, also when the
    model is built later, except the samples that are installed with the workbench, and in a worker
    whose parent process allowed that code.

    Raises:
        ModelError: `folder` is not a saved model, is corrupt, or is from a newer version.
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
    except Exception as error:  # numpy raises many types for a corrupt array
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
        raise ModelError(f"{path} has no format version; it is not of a saved model.")
    refuse_newer_format(version, FORMAT_VERSION, str(folder), ModelError, " to open it")
    return record
