"""The graphs of a model, of artifacts, or of a file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.artifacts.artifacts import Artifacts
from workbench.artifacts.generation.provenance import read_provenance
from workbench.artifacts.manifest_record import MANIFEST
from workbench.child_process.child import run_child
from workbench.errors import ModelError
from workbench.files.input_file import is_file
from workbench.graph_view.graph_file import GraphFile
from workbench.graph_view.request import GraphRequest

if TYPE_CHECKING:
    from workbench.models import Model

Report = Callable[[str], None]

KINDS = ("forward", "training", "eval", "optimizer")
"""The graphs of artifacts."""

_OLD = (
    "These artifacts are from a device bundle, or from an older workbench that did not record the "
    "origin of these nodes, so losses, gradients, rewrites and fusions are not marked. Generate "
    "the artifacts again to see them."
)


class SourceGraphs(NamedTuple):
    """The graphs of a model, of artifacts or of a file; each is read on request."""

    name: str
    """Name to show."""
    keys: tuple[str, ...]
    """The graphs that there are, such as `KINDS`."""
    read: Callable[[str, Report], GraphFile]
    """Reads one; it may take seconds. The report is called with short progress texts.

    Raises a WorkbenchError if it cannot be read."""


def graphs_of_source(given: Model | Artifacts | str | Path) -> SourceGraphs:
    """The graphs of a model, of artifacts, or of a file.

    Args:
        given: a `Model`, or what `load_model` takes; `Artifacts`, or their folder; the path of an
            .onnx file, which is only read: it need not be one that can be trained.

    Raises:
        WorkbenchError: there is no such model, file or folder.
    """
    from workbench.models import Model

    if isinstance(given, Artifacts):
        return _of_artifacts(given)
    if isinstance(given, Model):
        return _of_model(given)
    if not isinstance(given, str | Path):
        raise ModelError(
            f"A graph is shown of a Model, of Artifacts or of an .onnx file, not of a "
            f"{type(given).__name__}. Load a module with wb.load_model(module, example_inputs=...)."
        )
    path = Path(given)
    if is_file(path / MANIFEST):  # corrupt or not: it says what is wrong with it
        return _of_artifacts(Artifacts.load(path))
    if path.suffix == ".onnx" or is_file(path):
        return _of_file(path)
    from workbench.load import load_model

    return _of_model(load_model(given))


def _of_file(path: Path) -> SourceGraphs:
    return SourceGraphs(
        path.name, ("forward",), lambda key, _: GraphFile.of_file(key, path.name, path)
    )


def _of_artifacts(artifacts: Artifacts) -> SourceGraphs:
    model = artifacts.manifest["model"]
    parameters = {*artifacts.trainable, *artifacts.frozen}

    def read(key: str, report: Report) -> GraphFile:
        report(f"reading the {key} graph")
        artifacts.check_current()
        forward = artifacts.forward_model
        paths = {
            "forward": forward or artifacts.inference_model,
            "training": artifacts.training_model,
            "eval": artifacts.eval_model,
            "optimizer": artifacts.optimizer_model,
        }
        options: dict[str, Any] = {}
        if key != "optimizer":
            options.update(parameters=parameters, values_from=(artifacts.inference_model,))
            recorded = read_provenance(artifacts.directory)
            found = None if recorded is None or forward is None else getattr(recorded, key)
            options.update({"notices": (_OLD,)} if found is None else {"provenance": found})
        return GraphFile.of_file(key, f"{model}, {key} graph", paths[key], **options)

    return SourceGraphs(model, KINDS, read)


def _of_model(model: Model) -> SourceGraphs:
    name = model.name
    exported: list[tempfile.TemporaryDirectory[str]] = []
    # The folder of the export lives as long as the function that reads it.

    def read(key: str, report: Report) -> GraphFile:
        if not model.has_module:
            report("reading the graph")
            return GraphFile(key, name, model.graph, parameters=model.parameter_names)
        if not exported:
            folder = tempfile.TemporaryDirectory(prefix="workbench-graph-")
            _export(model, Path(folder.name), report)
            exported.append(folder)
        request = _request(Path(exported[0].name))
        parameters = json.loads(request.parameters_path.read_text(encoding="utf-8"))
        return GraphFile.of_file(key, name, request.path, parameters=parameters)

    return SourceGraphs(name, ("forward",), read)


def _request(folder: Path) -> GraphRequest:
    return GraphRequest(folder / "model", folder / "model.onnx")


def _export(model: Model, folder: Path, report: Report) -> None:
    model.save(folder / "model")
    request = _request(folder)
    request.write(folder / "request.json")
    run_child(
        "workbench.graph_view",
        folder / "request.json",
        report,
        model.code.environment(),
        work="exports the graph",
        failure=ModelError,
    )
