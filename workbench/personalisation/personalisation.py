"""A personalisation: its run, and the base model compared with the trained one."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Literal

import numpy as np

from workbench.errors import DataError, RunError, WorkbenchError
from workbench.inference import InferenceProcess
from workbench.models import Model
from workbench.onnx_io.onnx_path import onnx_path
from workbench.personalisation.examples.example import Kind, stored_value
from workbench.personalisation.exported import (
    export_personal,
    has_graph,
    write_model,
)
from workbench.personalisation.outcome import Outcome, Prediction
from workbench.personalisation.plan import PersonalisationPlan
from workbench.personalisation.trained_model import CONTINUED, TrainedModel
from workbench.personalisation.training_data import model_inputs
from workbench.runs import Run
from workbench.runs.deadline import Deadline

POLL_S = 0.02

Status = Literal["training", "comparing", "completed", "stopped", "failed"]


class Personalisation:
    """A base model that is fine-tuned on a user's examples; `personalise` returns it.

    A separate thread waits for the run and compares, so that every property returns at once.

    Attributes:
        run: the training run, with its `history` and `progress`.
        labels: of the examples, in the order in which they came; empty for a text.
        held_out: ids of the examples that were not trained with; empty for a text.
    """

    def __init__(
        self,
        run: Run,
        model: Model,
        plan: PersonalisationPlan,
        folder: tempfile.TemporaryDirectory[str],
    ) -> None:
        """Follow a run; see `personalise`, which starts it.

        Args:
            run: the training run.
            model: with the weights of the base.
            plan: what is trained and compared.
            folder: for exported models; removed by `close`.
        """
        self.run = run
        self.labels = plan.slots.labels if plan.slots is not None else ()
        self.held_out = tuple(item.id for item in plan.held_out)
        self._model = model
        self._plan = plan
        self._before: Outcome | None = None
        self._after: Outcome | None = None
        self._error: WorkbenchError | None = None
        # Of a recorded run it is not known.
        self._started = None if run.ended else time.perf_counter()
        self._seconds: float | None = None
        self._folder = folder
        self._process = InferenceProcess(run.config.threads)
        self._trained: TrainedModel | None = None
        self._base: TrainedModel | None = None
        self._thread = threading.Thread(target=self._compare, name=f"compare-{run.id}", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<Personalisation {self.run.id}: {self.status}>"

    @property
    def kind(self) -> Kind:
        """Of the examples: "image", "audio" or "text"."""
        return self._plan.base.kind

    @property
    def status(self) -> Status:
        """The current activity, or the final state."""
        if self._thread.is_alive():
            return "comparing" if self.run.ended else "training"
        if self._error is not None:
            return "failed"
        return "completed" if self.run.status == "completed" else "stopped"

    @property
    def done(self) -> bool:
        """Whether `after` is known, or will not be computed."""
        return not self._thread.is_alive()

    @property
    def error(self) -> str | None:
        """Why it failed; else None."""
        return None if self._error is None else str(self._error)

    @property
    def before(self) -> Outcome | None:
        """The base model on the held-out examples; None until it is known.

        It only predicts its own classes, so it never predicts a new label.
        """
        return self._before

    @property
    def after(self) -> Outcome | None:
        """The trained model on the held-out examples; None until it is known."""
        return self._after

    @property
    def seconds(self) -> float | None:
        """From the start to `after`; None until then, and for a recorded run."""
        return self._seconds

    def wait(self, timeout: float | None = None) -> Personalisation:
        """Wait until `after` is known.

        Args:
            timeout: in seconds; None: no limit.

        Raises:
            ConfigError: `timeout` is not a number of seconds.
            RunError: the training failed.
            EngineError: the models could not be compared.
            TimeoutError: the timeout expired; training continues.
        """
        deadline = Deadline(timeout)
        while not self.done:
            if deadline.passed:
                raise TimeoutError(f"Run {self.run.id} is still running after {timeout:g} s.")
            self._thread.join(POLL_S)
        if self._error is not None:
            raise self._error
        return self

    def stop(self) -> None:
        """Stop training before the next step; the model as trained until then is compared."""
        self.run.stop()

    def recognise(self, value: Any, rate: float | None = None) -> Prediction:
        """Prediction of the trained model for a new image or recording.

        Args:
            value: see `Examples.add`.
            rate: of a recording, samples per second.

        Raises:
            DataError: the value is not of this kind, or the model is one of texts.
            RunError: it is not trained yet.
        """
        kind = self._plan.base.kind
        if kind == "text":
            raise DataError("A text model does not classify; use continue_text(prompt).")
        stored = stored_value(kind, value, rate)
        assert isinstance(stored, np.ndarray)
        return self._ready().predictions(model_inputs(kind, [stored]))[0]

    def continue_text(self, prompt: str, length: int = CONTINUED, *, trained: bool = True) -> str:
        """The most probable characters after `prompt`, one by one.

        Args:
            prompt: the text to continue; an empty one begins a line.
            length: number of characters.
            trained: by the trained model; False: by the base model.

        Raises:
            DataError: the model is not one of texts.
            RunError: it is not trained yet.
        """
        if self._plan.base.kind != "text":
            raise DataError(
                "Only a text model continues a text; use recognise(value) for this one."
            )
        model = self._ready()
        if not trained and self._base is not None:
            model = self._base
        return model.continuation(prompt, length)

    def export(self, path: str | Path) -> Path:
        """Write the trained model to an .onnx file that any ONNX Runtime runs.

        Its metadata "classes" is a JSON list of the class of each output; null marks an output
        without a class, which is never the largest.

        Raises:
            RunError: the run has written no checkpoint yet.
            ModelError: the file cannot be written.
        """
        return export_personal(self.run, self._model, self._plan, onnx_path(path))

    def close(self) -> None:
        """Stop training, and end the process that compares; the run is kept."""
        self.run.stop()
        self._process.close()
        self._thread.join()
        self._folder.cleanup()

    def __del__(self) -> None:
        # An object whose constructor failed has neither.
        if hasattr(self, "_process"):
            self._process.close()
            self._folder.cleanup()

    def _ready(self) -> TrainedModel:
        if self._trained is None:
            raise RunError(f"Run {self.run.id} is not trained yet ({self.status}); call wait().")
        return self._trained

    def _compare(self) -> None:
        """Compare both models, each as soon as it is available."""
        try:
            while not (has_graph(self.run) or self.run.ended):
                time.sleep(POLL_S)
            if has_graph(self.run):
                self._before = self._outcome(self._base_model())
            self.run.wait()
            if self._before is None:
                self._before = self._outcome(self._base_model())
            path = export_personal(
                self.run, self._model, self._plan, Path(self._folder.name, "after.onnx")
            )
            slots = self._plan.slots
            classes, outputs = (
                (slots.labels, slots.outputs)
                if slots is not None
                else (self._plan.base.classes, tuple(range(len(self._plan.base.classes))))
            )
            trained = TrainedModel(path, self._plan.base, classes, outputs, self._process)
            self._after = self._outcome(trained)
            self._trained = trained
            if self._started is not None:
                self._seconds = time.perf_counter() - self._started
        except WorkbenchError as error:
            self._error = error
        except Exception as error:
            self._error = RunError(f"The models cannot be compared: {error!r}.")
            self._error.__cause__ = error

    def _base_model(self) -> TrainedModel:
        path = Path(self._folder.name, "before.onnx")
        write_model(self.run, self._model, self._model.weights(), path)
        classes = self._plan.base.classes
        outputs = tuple(range(len(classes)))
        self._base = TrainedModel(path, self._plan.base, classes, outputs, self._process)
        return self._base

    def _outcome(self, model: TrainedModel) -> Outcome:
        test = self._plan.data.test
        assert test is not None
        if self._plan.base.kind == "text":
            return model.on_text(test, self._plan.prompt)
        return model.on_examples(test, self._plan.held_out)
