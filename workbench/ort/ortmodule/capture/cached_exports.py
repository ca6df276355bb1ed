"""Forward graphs from the export cache, where the state of the process is known.

A graph depends on all that the module's code reads. That is known in a process which does nothing
but train a saved model: the saved files, the settings and the code determine it. It is not known
in a process of the user's, whose `ORTModule` exports by itself.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from workbench.export import torch_exporter
from workbench.export.export import EXPORTER
from workbench.export_cache.known_process import KnownProcess
from workbench.ort.ortmodule.capture.call_to_export import CallToExport
from workbench.ort.ortmodule.capture.export import ForwardGraph, export_forward, input_names
from workbench.ort.ortmodule.capture.graph_record import read_graph, write_graph
from workbench.ort.ortmodule.capture.nested_values.structure_record import NoRecordError


class ObtainedGraph(NamedTuple):
    """The forward graph of a call, and the time that it took."""

    graph: ForwardGraph
    export_s: float | None
    """Seconds to export it; None: it is from the cache."""
    cache_s: float | None = None
    """Seconds to read it from the cache; None: it was exported."""


class CachedExports:
    """The cached exports of the one module that a process trains."""

    def __init__(self, process: KnownProcess) -> None:
        self._process = process
        self._cache = process.cache

    def exported(self, call: CallToExport) -> ObtainedGraph:
        """The graph of `call`, from the cache or exported now and stored there.

        Raises:
            NoTensorsError, ChangedArgumentsError, UntrainableError: see `export_forward`.
        """
        try:
            description = json.dumps(call.description(), sort_keys=True)
        except NoRecordError:
            return export(call)
        if not _is_as_built(call):
            return export(call)
        key = hashlib.sha256(f"{self._process.key}\0{description}".encode()).hexdigest()
        with self._cache.locked(key), TemporaryDirectory(prefix="workbench-") as folder:
            started = time.perf_counter()
            found = self._take(key, Path(folder, "taken"), call)
            if found is not None:
                return ObtainedGraph(found, None, time.perf_counter() - started)
            made = export(call)
            if _is_as_built(call) and _holds_for_any(made.graph):
                self._store(key, Path(folder, "made"), made.graph, call)
            return made

    def _take(self, key: str, folder: Path, call: CallToExport) -> ForwardGraph | None:
        found: list[ForwardGraph] = []

        def is_complete(directory: Path) -> bool:
            found.append(read_graph(directory, input_names(len(call.tensors)), call.layout))
            return _holds_for_any(found[-1])

        folder.mkdir()
        return found[-1] if self._cache.take(key, folder, is_complete) else None

    def _store(self, key: str, folder: Path, graph: ForwardGraph, call: CallToExport) -> None:
        code = self._process.code()
        if isinstance(code, str):
            self._cache.tell(f"The export is not cached. {code}")
            return
        folder.mkdir()
        try:
            write_graph(folder, graph, call.layout)
        except NoRecordError:
            return
        except OSError as error:
            self._cache.tell(f"The export is not cached: {error.strerror}.")
            return
        self._cache.store(key, folder, code)


def export(call: CallToExport) -> ObtainedGraph:
    """Export `call`.

    Raises:
        NoTensorsError, ChangedArgumentsError, UntrainableError: see `export_forward`.
    """
    started = time.perf_counter()
    graph = export_forward(
        call.module,
        call.arguments,
        call.tensors,
        call.axes,
        call.layout.attributes.leave_out_changed,
        call.read,
        call.autocast,
    )
    return ObtainedGraph(graph, time.perf_counter() - started)


def _holds_for_any(graph: ForwardGraph) -> bool:
    """Whether `graph` is right for any size of its dynamic axes and any values of the weights.

    A trace may hold numbers of its example and of the weights.
    """
    exporter = [each.value for each in graph.model.metadata_props if each.key == EXPORTER]
    return exporter == [torch_exporter.NAME] and not graph.ranges


def _is_as_built(call: CallToExport) -> bool:
    """Whether no forward pass has changed attributes or variables that a graph holds."""
    attributes = call.layout.attributes
    return not attributes.left_out and attributes.unchanged()
