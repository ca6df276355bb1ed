"""Options of the fields of a page: samples, names of the notebook, files and comparisons."""

from __future__ import annotations

from workbench.controller.model.namespace import Kind, array_pairs, look
from workbench.controller.model.sources import Sources, complete
from workbench.controller.model.target_names import csv_columns, target_names
from workbench.controller.recorded_runs.recorded_comparisons import recorded_comparisons

MODEL_FILES = (".onnx",)
DATA_FILES = (".npz", ".csv")


def model_options(sources: Sources, text: str) -> list[dict[str, str]]:
    """Modules of the notebook, samples with the first sentence of their cards, .onnx files."""
    from sample_models import SAMPLES

    samples = [
        _option(name, sample.card.partition(". ")[0], "Samples") for name, sample in SAMPLES.items()
    ]
    own = _own(sources, "model")
    return [*own, *_typed(sources, text, own), *samples, *_files(text, MODEL_FILES)]


def dataset_options(sources: Sources, text: str) -> list[dict[str, str]]:
    """Datasets of the notebook, pairs of its arrays, sample datasets, .npz and .csv files."""
    from sample_models import DATASETS

    samples = [_option(name, "", "Samples") for name in DATASETS]
    pairs = array_pairs(sources.names())
    own = [
        *_own(sources, "dataset"),
        *(_option(each.name, each.detail, "Notebook") for each in pairs),
    ]
    return [*own, *_typed(sources, text, own), *samples, *_files(text, DATA_FILES)]


def target_options(dataset: str) -> list[dict[str, str]]:
    """Columns of a .csv file, or arrays of a .npz file."""
    return [_option(name, "", "") for name in target_names(dataset)]


def column_options(dataset: str) -> list[dict[str, str]]:
    """Columns of a .csv file."""
    return [_option(name, "", "") for name in csv_columns(dataset)]


def comparison_options() -> list[dict[str, str]]:
    """The recorded comparisons of this directory, newest first."""
    return [_option(each.id, each.text, "") for each in recorded_comparisons()]


def example_options(sources: Sources, _: str) -> list[dict[str, str]]:
    """Arrays and tensors of the notebook."""
    return _own(sources, "array")


def _own(sources: Sources, kind: Kind) -> list[dict[str, str]]:
    found = look(sources.names())
    return [_option(each.name, each.detail, "Notebook") for each in found if each.kind == kind]


def _typed(sources: Sources, text: str, own: list[dict[str, str]]) -> list[dict[str, str]]:
    """The name of the notebook that is typed, of whatever type: Enter then means it, rather than
    an option that contains it."""
    name = text.strip()
    values = sources.names()
    if name not in values or not name.isidentifier() or any(each["value"] == name for each in own):
        return []
    return [_option(name, type(values[name]).__name__, "Notebook")]


def _files(text: str, suffixes: tuple[str, ...]) -> list[dict[str, str]]:
    return [_option(path, "", "Files") for path in complete(text.strip(), suffixes)]


def _option(value: str, detail: str, group: str) -> dict[str, str]:
    return {"value": value, "detail": detail, "group": group}
