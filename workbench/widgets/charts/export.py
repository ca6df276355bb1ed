"""Charts as a picture or as numbers, for files."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.chart_series import LOG_SPREAD, METRICS, Recording, smoothed, trailing_rate
from workbench.chart_series.blocks import (
    COUNT,
    HIGH,
    LAST,
    LOW,
    MEAN,
    MEMORY,
    SAMPLES,
    SECONDS,
    STEP,
)
from workbench.chart_series.smoothing import rate_window
from workbench.errors import RunError
from workbench.figures.engine_style import drawn_line
from workbench.figures.static_figure import (
    from_zero,
    legend_label,
    make_figure,
    make_logarithmic,
    number_steps,
)
from workbench.files.output_file import replacing_file
from workbench.widgets.charts.file_names import chart_stem, chart_title
from workbench.widgets.charts.values import shown_metric, spreads

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "csv")
PICTURE_BLOCKS = 2048
TITLE_LETTERS = 32
"""Of the title, above each chart of a row."""
AXIS_LABELS = {"time": "seconds of training", "samples": "samples"}
SMOOTHING_LENGTHS = 3
"""Smoothing lengths after which a step counts for less than a hundredth of a mean."""


@dataclass(frozen=True)
class ChartFile:
    """Contents of charts at one moment."""

    curves: list[dict[str, Any]]
    """Those that are not hidden; see `Charts.curves`."""
    recordings: dict[str, Recording]
    axis: str
    smoothing: int
    scales: dict[str, str]
    window: tuple[float, ...]
    step_name: str = "step"
    verdict: str = ""
    """See `ChartOptions.verdict`."""

    def data(self, kind: str) -> bytes:
        """The content of a file: "png", "svg" or "csv"."""
        if kind == "csv":
            text: str = self.frame().to_csv(index=False)
            return text.encode()
        buffer = io.BytesIO()
        # Without the date equal charts make equal files.
        metadata = {"Date": None} if kind == "svg" else None
        self.figure().savefig(buffer, format=kind, dpi=160, metadata=metadata)
        return buffer.getvalue()

    @property
    def stem(self) -> str:
        """Name for a file, without its suffix."""
        return chart_stem(self.curves)

    def frame(self) -> pd.DataFrame:
        """Every step that is shown, and the evaluations.

        Columns: run, step, steps (in one row: more than 1 for the oldest of a very long run, whose
        loss is then a mean), seconds, samples, loss, samples_per_s, memory_mb, test_loss, and the
        metric that is shown, as "test_accuracy", if there is one.
        """
        import pandas as pd

        frames = []
        for curve in self.curves:
            recording = self.recordings[curve["key"]]
            every = _all_blocks(recording)
            seconds = np.diff(every[SECONDS], prepend=np.nan)
            samples = np.diff(every[SAMPLES], prepend=np.nan)
            if every.shape[1] and every[STEP, 0] == every[COUNT, 0]:
                seconds[0], samples[0] = every[SECONDS, 0], every[SAMPLES, 0]
            within = self._within(every)
            found, rate = every[:, within], (samples / seconds)[within]
            columns = {
                "run": curve["label"],
                "step": found[STEP].astype(np.int64),
                "steps": found[COUNT].astype(np.int64),
                "seconds": found[SECONDS],
                "samples": found[SAMPLES].astype(np.int64),
                "loss": np.where(found[COUNT] == 1, found[LAST], found[MEAN]),
                "samples_per_s": rate,
                "memory_mb": found[MEMORY],
            }
            for name, values in _evaluated(recording).items():
                at = dict(zip(recording.evaluations.array[0].tolist(), values, strict=True))
                columns[name] = pd.Series(found[STEP]).map(at)
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def figure(self) -> Figure:
        """The charts as a figure on white."""
        metrics = [self.recordings[curve["key"]].evaluations.metric for curve in self.curves]
        metric = next((each for each in metrics if each is not None), None)
        across = 4 if metric else 3
        sentences = [chart_title(self.curves), self.verdict]
        lines = [line for each in sentences for line in textwrap.wrap(each, TITLE_LETTERS * across)]
        figure, panels = make_figure(across, "\n".join(lines))
        wide = spreads({curve["key"]: self.recordings[curve["key"]] for curve in self.curves})
        for curve in self.curves:
            self._draw(panels, curve)
        panels[0].set_title(self._loss_title, fontsize=9, loc="left")
        panels[1].set_title(self._rate_title, fontsize=9, loc="left")
        panels[2].set_title("Memory, resident set, MB", fontsize=9, loc="left")
        if metric:
            panels[3].set_title(f"{metric.title}, {metric.unit}", fontsize=9, loc="left")
        for panel, name in zip(panels, ("loss", "throughput", "memory", "metric"), strict=False):
            label = self.step_name if self.axis == "step" else AXIS_LABELS[self.axis]
            panel.set_xlabel(label, fontsize=8)
            scale = self.scales.get(name, "auto")
            if scale == "log" or (scale == "auto" and wide.get(name, 1.0) > LOG_SPREAD):
                make_logarithmic(panel)
            elif name in ("throughput", "memory"):
                from_zero(panel)
            if self.window:
                panel.set_xlim(*self.window)
            if self.axis == "step":
                number_steps(panel)
        handles, labels = panels[0].get_legend_handles_labels()
        if labels:
            figure.legend(
                handles, labels, loc="outside lower left", ncols=4, fontsize=8, frameon=False
            )
        return figure

    @property
    def _loss_title(self) -> str:
        tested = any(
            len(self.recordings[curve["key"]].evaluations.array[0]) for curve in self.curves
        )
        dots = "; dots: on the test split" if tested else ""
        if self.smoothing <= 1:
            return f"Loss per batch{dots}"
        return f"Loss, mean over about {self.smoothing:,} {self.step_name}s{dots}"

    @property
    def _rate_title(self) -> str:
        lengths = [len(self.recordings[curve["key"]]) for curve in self.curves]
        window = rate_window(max(lengths, default=0), self.smoothing)
        return f"Throughput, samples/s, mean of the last {window:,} {self.step_name}s"

    def _draw(self, panels: np.ndarray, curve: dict[str, Any]) -> None:
        recording = self.recordings[curve["key"]]
        if len(recording) == 0:
            return
        low, high = self._step_range(recording)
        # The first points shown are means over steps before them.
        window = rate_window(len(recording), self.smoothing)
        lead = window + SMOOTHING_LENGTHS * self.smoothing
        _, start, found = recording.window(max(0, low - lead), high, PICTURE_BLOCKS)
        totals = found[STEP], found[SECONDS], found[SAMPLES]
        rate = trailing_rate(*totals, window, recording.warm_up)
        rate[: 1 if start else 0] = np.nan  # blocks before the first are not known here
        own_window = rate_window(len(recording))
        raw = trailing_rate(*totals, own_window, recording.warm_up)
        raw[: 1 if start else 0] = np.nan
        mean = smoothed(found[STEP], found[MEAN], self.smoothing)
        shown = slice(max(0, int(np.searchsorted(found[STEP], low)) - 1), None)
        found, rate, raw, mean = found[:, shown], rate[shown], raw[shown], mean[shown]
        x = found[{"step": STEP, "time": SECONDS, "samples": SAMPLES}[self.axis]]
        style = _line(curve)
        pale = {"color": style["color"], "alpha": 0.3, "linewidth": 0.6}
        loss = panels[0]
        single = found[COUNT].max(initial=1) == 1
        if not single:
            loss.fill_between(x, found[LOW], found[HIGH], color=style["color"], alpha=0.2, lw=0)
        elif self.smoothing:
            loss.plot(x, found[LAST], **pale)
        loss.plot(x, mean, **style, label=legend_label(curve["label"]))
        if window > own_window:
            panels[1].plot(x, raw, **pale)
        panels[1].plot(x, rate, **style)
        panels[2].plot(x, found[MEMORY], **style)
        solid = {"color": style["color"], "linewidth": 0.8}  # else it is taken for the batches
        self._draw_evaluations(loss, recording.evaluations.array[:2], recording, solid)
        if len(panels) > 3:
            self._draw_evaluations(panels[3], shown_metric(recording), recording, style)

    def _draw_evaluations(
        self, axes: Axes, points: Any, recording: Recording, style: Mapping[str, Any]
    ) -> None:
        step, value = points
        if len(step) == 0:
            return
        if self.axis != "step":
            name = {"time": "seconds", "samples": "samples"}[self.axis]
            step = np.array([recording.at(int(each))[name] for each in step])
        axes.plot(step, value, **style, marker="o", markersize=3)

    def _step_range(self, recording: Recording) -> tuple[float, float]:
        if not self.window:
            return 0, recording.last_step
        found = self._shown(recording.blocks(recording.stride_for(len(recording), 4096)))
        if found.shape[1] == 0:
            return 0, 0
        return float(found[STEP, 0] - found[COUNT, 0]), float(found[STEP, -1] + found[COUNT, -1])

    def _shown(self, found: np.ndarray) -> np.ndarray:
        """The blocks within the window."""
        return found[:, self._within(found)]

    def _within(self, found: np.ndarray) -> np.ndarray:
        x = found[{"step": STEP, "time": SECONDS, "samples": SAMPLES}[self.axis]]
        low, high = self.window or (-np.inf, np.inf)
        within: np.ndarray = (x >= low) & (x <= high)
        return within


def _evaluated(recording: Recording) -> dict[str, list[float]]:
    """Loss and shown metric of each evaluation, by the name of their column."""
    every, metric = recording.evaluations.array, recording.evaluations.metric
    found = {"test_loss": every[1].tolist()}
    if metric is not None:
        found[f"test_{metric.key}"] = every[2 + METRICS.index(metric)].tolist()
    return found


def write_chart(file: ChartFile, path: Path) -> Path:
    """Write `file` to `path`, in the format of its suffix; a missing folder is created.

    Raises:
        RunError: it cannot be written.
    """
    data = file.data(path.suffix[1:].lower())
    with replacing_file(path, RunError) as temporary:
        temporary.write_bytes(data)
    return path


def _all_blocks(recording: Recording) -> np.ndarray:
    """Single steps, or the finest blocks that cover the whole run."""
    stride = 1
    total = len(recording)  # first: the run may continue
    while True:
        found = recording.blocks(stride)
        if found[COUNT].sum() >= total:
            return found
        stride *= 2


def _line(curve: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of `Axes.plot`."""
    return {**drawn_line(curve["color"], curve["dash"]), "linewidth": 1.2}
