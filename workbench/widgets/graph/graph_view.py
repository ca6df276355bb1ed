"""`wb.GraphView`: the graphs of a model, of artifacts or of an .onnx file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anywidget
import traitlets

from workbench.controller.background.graph_reader import MOST_SHOWN, GraphReader
from workbench.errors import ConfigError, value_text
from workbench.graph_view import GraphFile
from workbench.graph_view.description import GraphDescription
from workbench.graph_view.formats.model_explorer import write_model_explorer
from workbench.graph_view.formats.node_data import NAMES, write_node_data
from workbench.graph_view.formats.svg import write_svg
from workbench.graph_view.initially_open import initially_open_groups
from workbench.widgets.bundle import bundle
from workbench.widgets.graph import graph_messages
from workbench.widgets.option_error import OptionError
from workbench.widgets.page.shown_alone import ShownAlone
from workbench.widgets.subshell import answer_while_busy

if TYPE_CHECKING:
    from workbench.artifacts import Artifacts
    from workbench.graph_view import TensorSummary
    from workbench.models import Model
    from workbench.profiling import Profile

EMPTY = "There is no graph yet: wb.GraphView(model), wb.GraphView(artifacts) or view.show(path)."


class GraphView(ShownAlone, anywidget.AnyWidget):
    """Shows graphs as groups of nodes that open and close, one graph or two side by side.

    A graph is read by a thread of its own. Its methods do the same as mouse and keyboard.
    """

    _esm = bundle("graph_view.js")
    _css = bundle("graph_view.css")

    status = traitlets.Unicode("empty").tag(sync=True)
    """"empty", "loading", "ready" or "failed"."""
    message = traitlets.Unicode(EMPTY).tag(sync=True)
    """Current activity, or the error, in a sentence."""
    name = traitlets.Unicode().tag(sync=True)
    """Name of the model or file that the graphs are of."""
    graphs = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """The available graphs, such as "forward" and "training"."""
    shown = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """The shown graphs, side by side if two."""
    opened = traitlets.Dict(
        key_trait=traitlets.Unicode(), value_trait=traitlets.List(traitlets.Unicode())
    ).tag(sync=True)
    """Paths of the open groups, a list for each graph that was shown."""
    selected_graph = traitlets.Unicode().tag(sync=True)
    """The graph of the selected node; empty if none is selected."""
    selected_node = traitlets.Int(-1).tag(sync=True)
    """Position of the selected node in its graph; -1 if none is selected."""
    query = traitlets.Unicode().tag(sync=True)
    """Search text."""
    page_id = traitlets.Unicode().tag(sync=True)
    """Id of its widget model where it is shown alone; empty: it is a part of a page."""
    paint_by = traitlets.Unicode().tag(sync=True)
    """Quantity shown by the colours of nodes: "" for their origin, "time" or "memory"."""
    painted_note = traitlets.Unicode().tag(sync=True)
    """Which timings of the profile were matched to nodes; empty without a profile."""

    def __init__(
        self,
        given: Model | Artifacts | str | Path | None = None,
        *,
        graphs: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Show the graphs of `given`; returns immediately.

        Args:
            given: a `Model`, or an argument of `load_model`; `Artifacts`, or their folder; the path
                of an .onnx file; None: nothing yet.
            graphs: graphs to show, at most two of "forward", "training", "eval" and "optimizer".
                None: the forward graph, beside the training graph if there is one.
        """
        self._profile: Profile | None = None
        self._reader = GraphReader(lambda text: setattr(self, "message", text), self._fail)
        super().__init__(**kwargs)
        self.on_msg(self._on_message)
        self.observe(self._on_shown, "shown")
        answer_while_busy(self)
        if given is not None:
            self.show(given, graphs=graphs)

    def show(
        self, given: Model | Artifacts | str | Path, *, graphs: list[str] | None = None
    ) -> None:
        """Show the graphs of another object, as the constructor does; returns immediately."""
        self.status, self.message = "loading", "reading the graph"
        self._profile = None  # of the graph before
        self._reader.ask(lambda query=self.query: self._start(given, graphs, query))  # type: ignore[misc]

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the graphs are read; False on a timeout."""
        return self._reader.wait(timeout)

    def describe(self, graph: str | None = None) -> GraphDescription:
        """Nodes, values and groups of a graph; None: of the first that is shown.

        Raises:
            ConfigError: it is not shown.
            WorkbenchError: it cannot be read.
        """
        return self._file(graph).description

    def open_group(self, path: str | None = None, *, graph: str | None = None) -> None:
        """Open a group and those around it; None: every group.

        Raises:
            ConfigError: there is no such group.
        """
        shown = self.describe(graph)
        if path is None:
            self._set_opened(shown.key, list(shown.group_paths()))
            return
        before = self.opened.get(shown.key, [])
        self._set_opened(shown.key, [*before, *shown.groups_around(path)])

    def close_group(self, path: str | None = None, *, graph: str | None = None) -> None:
        """Close a group; None: every group.

        Raises:
            ConfigError: there is no such group.
        """
        shown = self.describe(graph)
        if path is None:
            self._set_opened(shown.key, [])
            return
        *_, closed = shown.groups_around(path)
        before = self.opened.get(shown.key, [])
        self._set_opened(shown.key, [each for each in before if each != closed])

    def select(self, node: str | int | None, *, graph: str | None = None) -> None:
        """Select a node by its name, the name of its result, or its position; None: no node.

        Raises:
            ConfigError: there is no such node.
        """
        if node is None:
            self.selected_graph, self.selected_node = "", -1
            return
        shown = self.describe(graph)
        index = shown.position(node)
        with self.hold_trait_notifications():
            self.selected_graph, self.selected_node = shown.key, index

    def details(self, node: str | int, *, graph: str | None = None) -> dict[str, Any]:
        """Attributes, inputs and outputs of a node, in JSON types."""
        file = self._file(graph)
        return file.node_details(file.description.position(node))

    def tensor(self, name: str, *, graph: str | None = None) -> TensorSummary:
        """Statistics of a parameter's or an initializer's values.

        Raises:
            ModelError: no file holds them.
        """
        return self._file(graph).tensor_summary(name)

    def search(self, text: str) -> None:
        """Search the names, operators, layers and shapes of the shown graphs."""
        self.query = text

    def paint(self, profile: Profile | None, by: str = "time") -> str:
        """Colour nodes by their time, or by the memory of their results, in a profile.

        Args:
            profile: of `wb.profile(model, engine="ondevice")`; None: remove the colours.
            by: "time" or "memory".

        Returns:
            Which timings were matched to nodes, and why to doubt them; also in `painted_note`.

        Raises:
            ConfigError: the profile names no nodes; or `by` is unknown.
        """
        if by not in NAMES:
            raise ConfigError([f'by={by!r}: must be "time" or "memory".'])
        self._profile = profile
        if profile is None:
            self.paint_by, self.painted_note = "", ""
            return ""
        self.wait()
        said = [self._paint_on(self._file(key)) for key in self.shown]
        self.paint_by = by
        said.append(graph_messages.doubt(profile))
        self.painted_note = " ".join(dict.fromkeys(filter(None, said)))
        return self.painted_note

    def export_svg(self, path: Path | str, *, graph: str | None = None) -> Path:
        """Write a graph as SVG, with the currently open groups.

        Raises:
            ModelError: it cannot be written.
        """
        shown = self.describe(graph)
        return write_svg(shown, self.opened.get(shown.key, []), Path(path))

    def export_model_explorer(self, path: Path | str) -> Path:
        """Write the graphs that are shown as JSON for Model Explorer.

        Raises:
            ModelError: it cannot be written.
        """
        self.wait()
        return write_model_explorer([self._file(key) for key in self.shown], self.name, Path(path))

    def export_node_data(self, path: Path | str, by: str = "time") -> Path:
        """Write what the nodes are painted with as node data for Model Explorer.

        Args:
            path: of the .json file, which belongs to that of `export_model_explorer`.
            by: "time" in microseconds of a step, or "memory" of the results in bytes.

        Raises:
            ConfigError: no profile is painted; or `by` is unknown.
            ModelError: it cannot be written.
        """
        self.wait()
        shown = [self._file(key) for key in self.shown]
        return write_node_data(shown, self._profile, by, Path(path))

    def close(self) -> None:
        """Close the view and end its thread."""
        self._reader.close()
        super().close()

    def _start(self, given: Any, graphs: list[str] | None, query: str) -> None:
        shown = [file.description for file in self._reader.start(given, graphs)]
        found = self._reader.given
        assert found is not None
        with self.hold_trait_notifications():
            if self.name not in ("", found.name) and self.query == query:
                self.query = ""  # of the graphs of another model
            self.name, self.graphs = found.name, list(found.keys)
            self.opened = {each.key: initially_open_groups(each) for each in shown}
            self.selected_graph, self.selected_node = "", -1
            self.paint_by, self.painted_note = "", ""
            self.shown = [each.key for each in shown]
            self.status, self.message = "ready", ""
        self.send({"kind": "reset"})

    @traitlets.validate("shown")
    def _check_shown(self, proposal: Any) -> list[str]:
        keys: list[str] = proposal["value"]
        if len(keys) > MOST_SHOWN or not set(keys) <= set(self.graphs):
            raise OptionError([f"shown={value_text(keys)}: give one or two of {self.graphs}."])
        return keys

    def _on_shown(self, change: Any) -> None:
        if missing := [key for key in change["new"] if key not in self._reader.files]:
            self._reader.ask(lambda: self._read_more(missing))

    def _read_more(self, keys: list[str]) -> None:
        for key in keys:
            shown = self._reader.read(key).description
            if key not in self.opened:
                self._set_opened(key, initially_open_groups(shown))

    def _file(self, graph: str | None) -> GraphFile:
        self.wait()
        key = graph or next(iter(self.shown), "")
        if key not in self._reader.files:
            there = ", ".join(self.shown) or "none"
            raise ConfigError([f"graph={graph!r} is not shown; shown: {there}. {self.message}"])
        return self._reader.files[key]

    def _set_opened(self, key: str, paths: list[str]) -> None:
        self.opened = {**self.opened, key: list(dict.fromkeys(paths))}

    def _fail(self, error: Exception) -> None:
        with self.hold_trait_notifications():
            self.status, self.message = "failed", graph_messages.sentence(error)

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        """Answer a view; slow work is done by the thread."""
        if isinstance(content, dict):
            self._reader.ask(lambda: self._answer(content))

    def _answer(self, content: dict[str, Any]) -> None:
        try:
            answers = graph_messages.answers(content, self._reader, self._profile, self.name)
            for reply, buffers in answers:
                self.send(reply, buffers)
        except Exception as error:  # a question does no harm to the graph that is shown
            self.send(graph_messages.refused_message(content, error))

    def _paint_on(self, file: GraphFile) -> str:
        reply, buffers, said = graph_messages.painted_message(file, cast("Profile", self._profile))
        self.send(reply, buffers)
        return said
