"""The base class of pads: training, its state and result, and the export of the model."""

from __future__ import annotations

import html
import threading
import uuid
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from workbench.controller.jobs.personaliser import Personaliser, outcome
from workbench.controller.request_thread import RequestThread
from workbench.controller.state import State, failure
from workbench.errors import DataError, RunError
from workbench.personalisation import Examples, Personalisation
from workbench.personalisation.examples.example import Kind
from workbench.runs import Run
from workbench.widgets.pads.command import PadCommand
from workbench.widgets.pads.example_files import examples_in, file_content
from workbench.widgets.subshell import answer_while_busy

Action = Callable[[PadCommand], object]


class AbstractWidget(traitlets.MetaHasTraits, ABCMeta):
    """The class of widgets that may have abstract methods."""


class Pad(anywidget.AnyWidget, metaclass=AbstractWidget):
    """A widget on which a user makes examples and trains a model.

    Its methods do what its buttons do, on any thread.
    """

    kind: ClassVar[Kind]
    """Of the examples."""

    level = traitlets.Unicode("idle").tag(sync=True)
    message = traitlets.Unicode().tag(sync=True)
    """The work in progress, or its result; read aloud when it changes."""
    detail = traitlets.Unicode().tag(sync=True)
    """Text that changes many times a second; not read aloud."""
    progress = traitlets.Float(-1.0).tag(sync=True)
    """Share of the training done, 0 to 1; below 0 when there is none."""
    training = traitlets.Bool(False).tag(sync=True)
    result_note = traitlets.Unicode().tag(sync=True)
    """Conditions of the result."""
    ready = traitlets.Bool(False).tag(sync=True)
    """Whether there is a trained model to try and to export."""
    export_path = traitlets.Unicode().tag(sync=True)
    """Where the button exports to, unless the user types another path."""
    exported = traitlets.Unicode().tag(sync=True)
    """Description of the exported files, in a sentence."""
    problem = traitlets.Unicode().tag(sync=True)
    """Why the last command was refused; empty when it was not."""
    problem_at = traitlets.Unicode().tag(sync=True)
    """Where it was given: "examples", "try" or "export"."""

    def __init__(
        self, settings: Mapping[str, Any], trained: Run | str | None = None, **traits: Any
    ) -> None:
        given = dict(settings)
        self.settings: Callable[[], Mapping[str, Any]] = lambda: given
        """Gives the keyword arguments of `personalise` when a training begins. What it raises is
        shown beside the button."""
        self._lock = threading.RLock()
        self._result: Personalisation | None = None
        self._personaliser = Personaliser(self)
        # Apart from the training, so that a command never waits for one to begin.
        self._commands = RequestThread("workbench-pad-commands", self._on_command_error)
        self._area = ""
        self._display_id = uuid.uuid4().hex
        super().__init__(**traits)
        self.on_msg(self._on_message)
        answer_while_busy(self)
        if trained is not None:
            self._personaliser.load(trained, self.kind)

    @property
    def result(self) -> Personalisation | None:
        """The last training that was completed or stopped, with `before`, `after` and `run`."""
        return self._result

    def train(self) -> None:
        """Fine-tune the base model on the examples of the pad; returns at once.

        What keeps it from training is shown, and raised by `wait`.
        """
        self._personaliser.train(self._training_request)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until no training is in progress; False when `timeout` seconds were too few.

        Raises:
            WorkbenchError: why the last training failed.
        """
        return self._personaliser.wait(timeout)

    def stop(self) -> None:
        """Stop training before the next step; what was trained until then is compared."""
        self._personaliser.stop()

    def save(self, path: str | Path) -> Path:
        """Write the examples to a .npz file, as `Examples.save` does.

        Raises:
            DataError: there is nothing to write, or it cannot be written.
        """
        with self._lock:
            return self._collected().save(path)

    def load(self, path: str | Path) -> None:
        """Add the examples of a file that `save` wrote to those that are there.

        Raises:
            DataError: it is missing, corrupt, or holds another kind of examples.
        """
        self._extend(Examples.load(path))

    def export(self, path: str | Path) -> Path:
        """Write the trained model to an .onnx file that any ONNX Runtime runs.

        Raises:
            RunError: nothing was trained yet.
            ModelError: the file cannot be written.
        """
        written = self._trained().export(path).resolve()
        size = written.stat().st_size / 1e3
        self.exported = f"Exported to {written} ({size:,.0f} kB)."
        return written

    def close(self) -> None:
        """Close the pad with its threads and its trained model; a training is stopped."""
        # A pad whose making was refused is closed too, when it is collected.
        if hasattr(self, "_commands"):
            self._personaliser.close()
            self._commands.close()
            if self._result is not None:
                self._result.close()
        super().close()

    def show_state(self, state: State) -> None:
        """The personaliser's state, in one message to the browser."""
        with self.hold_sync():
            self.level, self.message = state.level, state.message
            self.detail, self.progress = state.detail, state.progress
            self.training = state.active

    def show_result(self, result: Personalisation) -> None:
        """Show how good both models are."""
        with self._lock, self.hold_sync():
            self._result = result
            self.exported = ""
            self._show_outcomes(result)
            self.ready = True
        self._keep_in_notebook(f"{outcome(result).message} {self.result_note}\n\n{self.summary()}")

    @abstractmethod
    def summary(self) -> str:
        """The result as text; empty while there is none."""

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**options)
        if bundle is not None:
            name = type(self).__name__
            bundle[0]["text/plain"] = f"{name}: run this cell in JupyterLab to use it."
        return bundle

    def _ipython_display_(self, **options: Any) -> None:
        """Show the pad, and an empty output beneath it that keeps the result as text."""
        from IPython.display import display

        data, metadata = self._repr_mimebundle_(**options) or ({}, {})
        display(data, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]
        # While the user makes examples, so that they wait less for the training.
        self._personaliser.prepare(self.kind, self.settings)
        empty = {"text/html": "", "text/plain": ""}
        display(empty, raw=True, display_id=self._display_id)  # type: ignore[no-untyped-call]

    def _keep_in_notebook(self, text: str) -> None:
        """For readers without a kernel, to whom the pad shows nothing."""
        from IPython.core.getipython import get_ipython
        from IPython.display import update_display

        if get_ipython() is not None:
            # The style sheet of a pad hides it, so it is only seen where no pad is.
            shown = f'<pre class="wb-pad-kept">{html.escape(text)}</pre>'
            data = {"text/html": shown, "text/plain": text}
            update_display(data, raw=True, display_id=self._display_id)  # type: ignore[no-untyped-call]

    @abstractmethod
    def _collected(self) -> Examples:
        """The user's own examples."""

    @abstractmethod
    def _extend(self, loaded: Examples) -> None:
        """Add examples to those that are there, and show them."""

    def _download(self) -> None:
        with self._lock:
            content = file_content(self._collected())
        self.send({"kind": "file", "name": f"{self.kind}-examples.npz"}, [content])

    def _upload(self, command: PadCommand) -> None:
        self._extend(examples_in(command.content(), Path(command.text("name")).name))

    @abstractmethod
    def _training_request(self) -> tuple[Examples, dict[str, Any]]:
        """Arguments of the training: a copy of the examples, and settings."""

    @abstractmethod
    def _show_outcomes(self, result: Personalisation) -> None:
        """Fill the traits of the result."""

    def _actions(self) -> dict[str, tuple[str, Action]]:
        """By the kind of a command: where a problem of it is shown, and what it does."""
        return {
            "train": ("", lambda _: self.train()),
            "stop": ("", lambda _: self.stop()),
            "download": ("examples", lambda _: self._download()),
            "upload": ("examples", self._upload),
            "export": ("export", lambda command: self._export_command(command.text("path"))),
        }

    def _trained(self) -> Personalisation:
        if self._result is None:
            raise RunError(
                "There is no trained model yet: press the button that fine-tunes, or call train() "
                "and wait()."
            )
        return self._result

    def _export_command(self, path: str) -> None:
        if not path:
            raise DataError("Give the path of a file, such as model.onnx.")
        self.export(path)

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        command = PadCommand(content, buffers)
        area, action = self._actions().get(command.kind, ("", None))
        if action is not None:
            self._commands.ask(lambda: self._carry_out(area, action, command))

    def _carry_out(self, area: str, action: Action, command: PadCommand) -> None:
        self._area = area
        action(command)
        if self.problem_at == area:
            self.problem = ""

    def _on_command_error(self, error: Exception) -> None:
        self._show_problem(error, self._area)

    def _show_problem(self, error: Exception, area: str) -> None:
        with self.hold_sync():
            self.problem = failure(error).message
            self.problem_at = area
