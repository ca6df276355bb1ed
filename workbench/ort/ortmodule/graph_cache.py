"""The graphs that were built for calls of one kind, by the sizes that each of them takes."""

from __future__ import annotations

from collections.abc import Callable

from workbench.errors import UntrainableError
from workbench.export.buffer_updates import LostUpdateError
from workbench.export.torch_exporter import branches_on_values
from workbench.ort.ortmodule.build_graph import Built
from workbench.ort.ortmodule.capture.sizes import Axes, Fit, SeenSizes, Shapes, one_row

Alike = Callable[[tuple[int, ...]], bool]
"""Whether a module does with one row what it does with more; is given the places of the tensors
that have a batch."""


class GraphCache:
    """Graphs built for calls that differ in nothing but the sizes of their tensors.

    The first graph has the sizes of its call, and any batch. When a call of other sizes comes, one
    more is built in which every axis that was seen to differ has any size, and replaces those that
    it can do the work of. A batch of one runs on the graph of others where the module does with it
    what it does with those, and otherwise on one of its own. Where the module cannot be exported
    so, each choice of sizes gets a graph of its own.
    """

    def __init__(self) -> None:
        self._graphs: list[tuple[Fit, Built]] = []
        self._seen: SeenSizes | None = None
        self._refused: set[Axes] = set()
        self.why_pytorch = ""
        """Why no graph can run such calls; empty until a reason is found."""
        self.changes = 0
        """How many calls were seen to change state of the module."""
        self._one_row_alike: bool | None = None

    def settle(self, why_pytorch: str) -> None:
        """Have PyTorch run all such calls, for this reason."""
        self.why_pytorch = why_pytorch
        self._graphs.clear()

    @property
    def built(self) -> tuple[Built, ...]:
        """Each graph that is in use."""
        return tuple(built for _, built in self._graphs)

    def find(self, shapes: Shapes, alike: Alike) -> Built | None:
        """The graph that runs a call with tensors of these shapes."""
        for fit, built in self._graphs:
            if fit.takes(shapes) and self._is_usual(shapes, fit.axes, alike):
                return built
        return None

    def _is_usual(self, shapes: Shapes, axes: Axes, alike: Alike) -> bool:
        """Whether a graph with these dynamic axes may run a call that has one row, if it has."""
        places = one_row(shapes, axes)
        if not places:
            return True
        if self._one_row_alike is None:
            self._one_row_alike = alike(places)
        return self._one_row_alike

    def make(self, shapes: Shapes, build: Callable[[Axes], Built], alike: Alike) -> Built:
        """Build the graph for a call that `find` has none for.

        Args:
            shapes: of the tensors of the call.
            build: builds a graph with these dynamic axes.
            alike: see there.

        Raises:
            UntrainableError: as `build` without a dynamic axis.
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

    def _keep(self, fit: Fit, built: Built) -> Built:
        others = [
            (other, each)
            for other, each in self._graphs
            if not fit.takes(other.shapes)
            or (one_row(other.shapes, fit.axes) and not self._one_row_alike)
        ]
        self._graphs = [(fit, built), *others]
        return built
