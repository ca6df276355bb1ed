"""Forward graphs from the export cache, where the state of the process is known.

A graph depends on all that the module's code reads. That is known in a process which does nothing
but train a saved model: the saved files, the settings and the code determine it. It is not known
in a process of the user's, whose `ORTModule` exports by itself.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from workbench.export import torch_exporter
from workbench.export.export import EXPORTER
from workbench.export.two_modes import with_program
from workbench.export_cache.export_context import ExportContext
from workbench.ort.ortmodule.capture.call_to_export import CallToExport
from workbench.ort.ortmodule.capture.export import (
    ForwardGraph,
    IsWanted,
    UnwantedGraphError,
    export_forward,
    input_names,
)
from workbench.ort.ortmodule.capture.graph_record import read_graph, write_graph
from workbench.ort.ortmodule.capture.nested_values.structure_record import NoRecordError

if TYPE_CHECKING:
    from workbench.export.state_file import StateFile


GRAPHS = "graph-"
"""Of locks: who generates artifacts holds one of theirs, and its child takes one of these."""


class ObtainedGraph(NamedTuple):
    """The forward graph of a call, and the time that it took."""

    graph: ForwardGraph
    export_s: float | None
    """Seconds to export it; None: it is from the cache."""
    cache_s: float | None = None
    """Seconds to read it from the cache; None: it was exported."""
    program: str | None = None
    """Digest of the program that was captured for it, if it is known, see `two_modes`."""


class CachedExports:
    """The cached exports of the one module that a process trains."""

    def __init__(self, context: ExportContext) -> None:
        self._context = context
        self._cache = context.cache

    def exported(
        self,
        call: CallToExport,
        state_file: StateFile | None = None,
        wanted: IsWanted | None = None,
        exporting: Callable[[], None] = lambda: None,
    ) -> ObtainedGraph:
        """The graph of `call`, from the cache or exported now and stored there.

        Args:
            call: what is exported.
            state_file: file for the parameters, which the graph references; None: they are in the
                graph.
            wanted: see `export_forward`.
            exporting: called before an export.

        Raises:
            NoTensorsError, ChangedArgumentsError, UntrainableError, UnwantedGraphError: see
                `export_forward`.
        """

        def obtain() -> ObtainedGraph:
            exporting()
            run = partial(export, call, state_file, wanted)
            made, program = with_program(run, lambda made: made.graph.model)
            return made._replace(program=program)

        try:
            description = json.dumps(call.description(), sort_keys=True)
        except NoRecordError:
            return obtain()
        if not _is_as_built(call):
            return obtain()
        key = hashlib.sha256(f"{self._context.key}\0{description}".encode()).hexdigest()
        with self._cache.locked(key, GRAPHS), TemporaryDirectory(prefix="workbench-") as folder:
            started = time.perf_counter()
            taken = self._take(key, Path(folder, "taken"), call, state_file)
            if taken is not None:
                graph, program = taken
                if wanted is not None and not wanted(graph.structure, graph.calls):
                    raise UnwantedGraphError
                return ObtainedGraph(graph, None, time.perf_counter() - started, program)
            made = obtain()
            if _is_as_built(call) and _holds_for_any(made.graph):
                self._store(key, Path(folder, "made"), made, call)
            return made

    def _take(
        self, key: str, folder: Path, call: CallToExport, state_file: StateFile | None
    ) -> tuple[ForwardGraph, str | None] | None:
        found: list[tuple[ForwardGraph, str | None]] = []

        def is_complete(directory: Path) -> bool:
            inputs = input_names(len(call.tensors))
            found.append(read_graph(directory, inputs, call.layout, state_file))
            return _holds_for_any(found[-1][0])

        folder.mkdir()
        return found[-1] if self._cache.take(key, folder, is_complete) else None

    def _store(self, key: str, folder: Path, made: ObtainedGraph, call: CallToExport) -> None:
        code = self._context.code()
        if isinstance(code, str):
            self._cache.report(f"The export is not cached. {code}")
            return
        folder.mkdir()
        try:
            write_graph(folder, made.graph, call.layout, made.program)
        except NoRecordError:
            return
        except OSError as error:
            self._cache.report(f"The export is not cached: {error.strerror}.")
            return
        self._cache.store(key, folder, code)


def export(
    call: CallToExport, state_file: StateFile | None = None, wanted: IsWanted | None = None
) -> ObtainedGraph:
    """Export `call`; see `CachedExports.exported`."""
    started = time.perf_counter()
    graph = export_forward(
        call.module,
        call.arguments,
        call.tensors,
        call.axes,
        call.layout.attributes.leave_out_changed,
        call.read,
        call.autocast,
        state_file=state_file,
        wanted=wanted,
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
