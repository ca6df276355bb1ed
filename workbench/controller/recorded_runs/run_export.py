"""Writes the trained models of recorded runs to files, as float32 or quantized."""

from __future__ import annotations

from collections.abc import Callable

from workbench.child_process.cancellation import Cancellation, CancelledError, check_cancelled
from workbench.controller.recorded_runs.runs_view import Outcome, RunsView
from workbench.controller.state import sentence_of
from workbench.errors import RunFolderError
from workbench.files.user_path import user_path
from workbench.models import Model
from workbench.runs import Run

Report = Callable[[str], None]


class RunExports:
    """Its methods return immediately; the view shows results."""

    def __init__(
        self,
        view: RunsView,
        load: Callable[[str], Run],
        ask: Callable[[Callable[[], None]], None],
    ) -> None:
        """Start with nothing to do.

        Args:
            view: is notified of progress and results.
            load: returns the run of an id.
            ask: runs a function on the thread of the actions, which shows its errors.
        """
        self.model_for: Callable[[Run], Model | None] = lambda _: None
        """Returns the model of a run of the user's own code, which a record does not execute; None:
        it needs none. See `needs_model`."""
        self._view = view
        self._load = load
        self._ask = ask
        self._cancellations: list[Cancellation] = []
        """Cancellations of the exports that have not ended."""
        self._ended: list[tuple[Outcome, str]] = []
        """Outcomes of exports for whose end another waited: shown with those of the others."""

    def export(self, run_id: str, path: str, *, merge_lora: bool = True) -> None:
        """Export the model of a run to the .onnx file `path`, or its adapters to .onnx_adapter."""

        def write(_: Report) -> str:
            run = self._load(run_id)
            given, model = _given(path), self.model_for(run)
            return f"Exported to {run.export(given, model, merge_lora=merge_lora).absolute()}."

        self._start(write, "Exporting the model")

    def quantize(self, run_id: str, path: str) -> None:
        """Export the model of a run as int8; report the effect on size, loss and metrics."""

        def write(report: Report) -> str:
            run, given = self._load(run_id), _given(path)
            made = run.quantize(given, self.model_for(run), report=report)
            return repr(made._replace(path=made.path.absolute()))

        self._start(write, "Quantizing the model")

    def cancel(self) -> None:
        """End the export that is in progress, and those that wait for it."""
        for cancellation in list(self._cancellations):
            cancellation.cancel()

    def _start(self, write: Callable[[Report], str], doing: str) -> None:
        cancellation = Cancellation()
        self._cancellations.append(cancellation)

        def report(text: str) -> None:
            check_cancelled()
            self._tell("busy", f"{doing}: {text} …")

        def act() -> None:
            outcome: Outcome = "done"
            try:
                with cancellation.applied():
                    self._tell("busy", f"{doing} …")
                    text = write(report)
            except CancelledError:
                text = "Cancelled: no model was written."
            except Exception as error:
                outcome, text = "error", sentence_of(error)
            finally:
                self._cancellations.remove(cancellation)
            self._tell(outcome, text)
            self._ended = [*self._ended, (outcome, text)] if self._cancellations else []

        self._ask(act)

    def _tell(self, outcome: Outcome, text: str) -> None:
        """Show an outcome, after those of the exports before."""
        texts = dict.fromkeys([*(each for _, each in self._ended), text])
        failed = outcome != "busy" and "error" in (each for each, _ in self._ended)
        self._view.show_outcome(
            "error" if failed else outcome, "\n".join(texts), cancellable=outcome == "busy"
        )


def _given(path: str) -> str:
    if not path.strip():
        raise RunFolderError("Give the path of the .onnx file to write.")
    given = path.strip()
    if user_path(given).is_file():
        raise RunFolderError(f"{given} exists: give another name, so that nothing is replaced.")
    return given
