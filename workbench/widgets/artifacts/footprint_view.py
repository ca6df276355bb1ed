"""The memory that training takes on a device, as predicted from the artifacts."""

from __future__ import annotations

import math
from collections.abc import Collection

import anywidget
import traitlets

from workbench.artifacts.footprint import Estimate
from workbench.controller.footprint_prediction import ArtifactsWithFootprint
from workbench.widgets.bundle import bundle

PARTS = (
    ("parameters_bytes", "Parameters"),
    ("gradients_bytes", "Gradients"),
    ("optimizer_state_bytes", "Optimizer state"),
    ("activations_bytes", "Activations"),
    ("evaluation_bytes", "Evaluation"),
    ("checkpoint_bytes", "Writing a checkpoint"),
    ("runtime_bytes", "ONNX Runtime"),
)


UNKNOWN = ("Activations", "Evaluation")
"""Parts that depend on the graph, and are unknown before the artifacts are generated."""


class FootprintView(anywidget.AnyWidget):
    """The parts of the footprint as bars, and the current activity."""

    _esm = bundle("footprint_view.js")
    _css = bundle("footprint_view.css")

    parts = traitlets.List(
        traitlets.Dict(per_key_traits={"name": traitlets.Unicode(), "bytes": traitlets.Int()})
    ).tag(sync=True)
    """One dict a part of the footprint; `bytes` is -1 where that is not known yet."""
    summary = traitlets.Unicode().tag(sync=True)
    """Description of the artifacts, in a sentence or two."""
    doing = traitlets.Unicode().tag(sync=True)
    """Current activity; empty while there is none."""
    problem = traitlets.Unicode().tag(sync=True)
    """Why there are no artifacts, in sentences."""
    outdated = traitlets.Bool(False).tag(sync=True)
    """Whether settings have changed since."""

    def show(
        self,
        prediction: ArtifactsWithFootprint | None,
        doing: str = "",
        problem: str = "",
        parameters: Collection[str] = (),
    ) -> None:
        """Show a footprint, what is being done, or why there is none.

        Args:
            prediction: the footprint; None: there is none yet.
            doing: the current activity.
            problem: why there is none.
            parameters: names of the model's parameters; other values are running statistics.
        """
        with self.hold_sync():
            self.doing, self.problem = doing, problem
            if prediction is not None:
                self.outdated = False
                self.parts = [
                    {"name": name, "bytes": getattr(prediction.footprint, key)}
                    for key, name in PARTS
                ]
                self.summary = _summary(prediction, parameters)
            elif problem:
                self.parts, self.summary = [], ""

    def show_estimate(self, estimate: Estimate) -> None:
        """Show the estimate that is known without artifacts."""
        with self.hold_sync():
            self.doing, self.problem, self.outdated = "", "", False
            self.parts = [
                {"name": name, "bytes": -1 if name in UNKNOWN else getattr(estimate, key)}
                for key, name in PARTS
            ]
            self.summary = (
                f"{estimate.trained_count:,} of {estimate.total_count:,} elements are trained. "
                "The memory of a batch, and of ONNX Runtime for each node, is known once the "
                "artifacts are generated."
            )

    def clear(self) -> None:
        """Show nothing."""
        with self.hold_sync():
            self.parts, self.summary = [], ""
            self.doing, self.problem = "", ""
            self.outdated = False


def _summary(prediction: ArtifactsWithFootprint, parameters: Collection[str]) -> str:
    artifacts, footprint = prediction.artifacts, prediction.footprint
    peak_mb = footprint.peak_bytes() / 1e6
    frozen = artifacts.manifest["parameters"]["frozen"]
    statistics = sum(
        math.prod(described["shape"])
        for name, described in frozen.items()
        if name not in parameters
    )
    further = f" {statistics:,} more are running statistics." if statistics else ""
    return (
        f"{artifacts.trainable_count:,} elements are trained and "
        f"{artifacts.frozen_count - statistics:,} are not.{further} At a batch of "
        f"{footprint.batch_size:,}, a process of engine ondevice grows by {peak_mb:,.1f} MB at "
        f"most, as not all parts are needed at once. The files are in {artifacts.directory}."
    )
