"""The graphs built for calls of one kind, by the sizes that each supports."""

from __future__ import annotations

from collections.abc import Callable

from workbench.errors import UntrainableError
from workbench.export.buffer_writes import LostUpdateError
from workbench.export.torch_exporter import branches_on_values
from workbench.ort.ortmodule.build_graph import BuiltGraph
from workbench.ort.ortmodule.capture.sizes import Axes, Fit, SeenSizes, Shapes, one_row

Alike = Callable[[tuple[int, ...]], bool]
"""Whether a module computes one row as it does more; its argument is the places of the tensors
that have a batch."""


class GraphCache:
    """Graphs built for calls that differ in nothing but the sizes of their tensors.

    The first graph has the sizes of its call, and any batch. For a call of other sizes, another is
    built in which every axis that has differed is dynamic; it replaces the graphs whose calls it
    can run. A batch of one uses the graph of larger batches if the module computes it equally, and
    otherwise its own. If the module cannot be exported so, each combination of sizes gets its own
    graph.
    """

    def __init__(self) -> None:
        self._graphs: list[tuple[Fit, BuiltGraph]] = []
        self._seen: SeenSizes | None = None
        self._refused: set[Axes] = set()
        self.why_pytorch = ""
        """Why no graph can run such calls; empty until a reason is found."""
        self.changes = 0
        """Number of calls that changed state of the module."""
        self._one_row_alike: bool | None = None

    def use_pytorch(self, why_pytorch: str) -> None:
        """Have PyTorch run all such calls, for this reason."""
        self.why_pytorch = why_pytorch
        self._graphs.clear()

    @property
    def built(self) -> tuple[BuiltGraph, ...]:
        """Each graph that is in use."""
        return tuple(built for _, built in self._graphs)

    def find(self, shapes: Shapes, alike: Alike) -> BuiltGraph | None:
        """The graph that runs a call with tensors of these shapes."""
        for fit, built in self._graphs:
            if fit.takes(shapes) and self._is_usual(shapes, fit.axes, alike):
                return built
        return None

    def _is_usual(self, shapes: Shapes, axes: Axes, alike: Alike) -> bool:
        """Whether a graph with these dynamic axes may run the call, if it has one row."""
        places = one_row(shapes, axes)
        if not places:
            return True
        if self._one_row_alike is None:
            self._one_row_alike = alike(places)
        return self._one_row_alike

    def make(self, shapes: Shapes, build: Callable[[Axes], BuiltGraph], alike: Alike) -> BuiltGraph:
        """Build the graph for a call for which `find` returns none.

        Args:
            shapes: of the tensors of the call.
            build: builds a graph with these dynamic axes.
            alike: see `Alike`.

        Raises:
            UntrainableError: raised by `build` without a dynamic axis.
        """
        if self._seen is None:
            self._seen = SeenSizes(shapes)
        else:
            self._seen.add(shapes)
        *wider, static = self._seen.candidates(shapes)
        for axes in wider:
            if axes in self._refused or not self._is_usual(shapes, axes, alike):
                continue
            try:
                built = build(axes)
                return self._keep(Fit(shapes, axes, built.ranges), built)
            except UntrainableError as error:
                if isinstance(error, LostUpdateError) or branches_on_values(error):
                    raise
                self._refused.add(axes)
        return self._keep(Fit(shapes, static), build(static))

    def _keep(self, fit: Fit, built: BuiltGraph) -> BuiltGraph:
        others = [
            (other, each)
            for other, each in self._graphs
            if not fit.takes(other.shapes)
            or (one_row(other.shapes, fit.axes) and not self._one_row_alike)
        ]
        self._graphs = [(fit, built), *others]
        return built
