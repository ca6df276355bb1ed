"""Live charts of loss, throughput, memory and an evaluation metric, one curve for each run."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import numpy as np
import traitlets

from workbench.chart_series import Recording
from workbench.controller.request_thread import RequestThread
from workbench.errors import ConfigError, RunError
from workbench.figures.curve_style import curve_styles
from workbench.files.output_file import output_path
from workbench.run_folder.run_reader import NewPoints
from workbench.widgets.bundle import bundle
from workbench.widgets.charts.export import FORMATS, ChartFile, write_chart
from workbench.widgets.charts.hints import WAITING_HINT
from workbench.widgets.charts.messages import (
    DETAIL_BLOCKS,
    OVERVIEW_BLOCKS,
    block_part,
    evaluation_buffer,
    facts,
    rank_memory_buffer,
)
from workbench.widgets.charts.notes import ChartNotes
from workbench.widgets.charts.options import ChartOptions, is_range
from workbench.widgets.charts.values import spreads, values_frame

if TYPE_CHECKING:
    import pandas as pd

    from workbench.runs import Run


class Charts(ChartOptions, ChartNotes, anywidget.AnyWidget):
    """Shows the points of some runs, live.

    `add` adds the points of a `RunReader` and `flush` sends new points since the last flush, as
    float32, in one message. For a run of any length, a view gets about two thousand blocks of
    steps, and asks for more detail where it is zoomed in. A view that (re)connects, or that has
    missed a message, asks for everything. All methods may be called from any thread.
    """

    _esm = bundle("charts.js")
    _css = bundle("charts.css")

    curves = traitlets.List(
        traitlets.Dict(
            per_key_traits={
                "key": traitlets.Unicode(),
                "label": traitlets.Unicode(),
                "detail": traitlets.Unicode(),
                "color": traitlets.Unicode(),
                "dark_color": traitlets.Unicode(),
                "dash": traitlets.List(traitlets.Float()),
            }
        )
    ).tag(sync=True)
    """The curves in the order in which they are drawn: label and style of each."""
    total_steps = traitlets.Int(0).tag(sync=True)
    """Steps that each run will take, for the axis; 0 while that is not known."""
    step_name = traitlets.Unicode("step").tag(sync=True)
    """Name of a step: "step", or "round" of a federated run, which has further charts."""
    evaluates = traitlets.Bool(False).tag(sync=True)
    """Whether evaluations will follow: their chart has its place before the first."""

    def __init__(self, **kwargs: Any) -> None:
        self._lock = threading.RLock()
        self._generation = 0
        self._sequence = 0
        self._recordings: dict[str, Recording] = {}
        self._sent: dict[str, tuple[int, int]] = {}
        """For each curve the number of sent steps and of steps in a block."""
        self._changed: set[str] = set()
        self._exports: RequestThread | None = None
        super().__init__(**kwargs)
        self.on_msg(self._on_message)

    def reset(
        self,
        keys: Sequence[str],
        total_steps: int = 0,
        *,
        engines: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        hint: str = WAITING_HINT,
    ) -> None:
        """Remove all points and prepare one curve for each of `keys`.

        Args:
            keys: names of engines, or any names if `engines` is given.
            total_steps: see the trait.
            engines: the engine of each curve; None: the keys are the engines.
            labels: label of each curve; None: its key, until `name` is called.
            hint: see the trait.
        """
        with self._lock:
            self._generation += 1
            self._recordings = {key: Recording() for key in keys}
            self._sent = dict.fromkeys(keys, (0, 1))
            self._changed = set()
            styles = curve_styles({key: (engines or {}).get(key, key) for key in keys})
            self.curves = [
                {"key": key, "label": (labels or {}).get(key, key), "detail": "", **styles[key]}
                for key in keys
            ]
            self.hidden, self.window, self.rates = [], [], {}
            self.verdict = self.remark = ""
            self.total_steps, self.hint = total_steps, hint
            self._send_recordings(self._recordings, full=True)

    def name(self, key: str, run: Run) -> None:
        """Label the curve by its run: by the engine where that is its key, else by the title."""
        named = {"label": run.engine if key == run.engine else key, "detail": run.title}
        with self._lock:
            curves = [{**curve, **named} if curve["key"] == key else curve for curve in self.curves]
            if curves != self.curves:
                self.curves = curves

    def add(self, key: str, points: NewPoints, warmup_steps: int = 0) -> None:
        """Add new points of one curve; they are sent by the next flush.

        If the run was resumed, its points of later steps are removed first.

        Args:
            key: of the curve.
            points: those that follow.
            warmup_steps: first steps of the run, which the throughput of later ones leaves out.
        """
        with self._lock:
            recording = self._recordings[key]
            if points.restored_step is not None and recording.cut(points.restored_step):
                # A view cannot remove points that it was sent, so it gets everything again.
                self._generation += 1
                self._sent[key] = 0, 1
                self._send_recordings(self._recordings, full=True)
            recording.add(
                *(points.step, points.seconds, points.samples, points.loss, points.rss_bytes),
                points.rank_rss_bytes,
                warmup_steps,
            )
            recording.add_events(points.events)
            if len(points.step) or points.events:
                self._changed.add(key)

    def add_run(self, key: str, run: Run) -> None:
        """Add all recorded points of `run`, and label the curve by it."""
        self.add(key, run.follow().poll(), run.config.warmup_steps)
        self.name(key, run)

    def flush(self) -> None:
        """Send points added since the last flush, if any."""
        with self._lock:
            changed = {key: one for key, one in self._recordings.items() if key in self._changed}
            if changed:
                self._send_recordings(changed, full=False)

    @property
    def empty(self) -> bool:
        """Whether there is no point yet, so that the hint is shown."""
        with self._lock:
            return not any(len(recording) for recording in self._recordings.values())

    def recording(self, key: str) -> Recording:
        """The recording of one curve.

        Raises:
            ConfigError: there is no such curve.
        """
        found = self._recordings.get(key)
        if found is None:
            raise ConfigError([f"key={key!r}: there is no such curve, only {[*self._recordings]}."])
        return found

    def points(self, key: str) -> np.ndarray:
        """(4, steps) float32: step, loss, samples per second, resident MB of one curve.

        A run of more than a million steps: its newest ones.
        """
        with self._lock:
            found = self._recordings.get(key, Recording()).blocks(1)
        seconds, samples = np.diff(found[1], prepend=0), np.diff(found[2], prepend=0)
        with np.errstate(over="ignore"):
            return np.stack([found[0], found[6], samples / seconds, found[7]]).astype(np.float32)

    def values(self, at: int | None = None) -> pd.DataFrame:
        """Last and best values of every curve with their steps, and those at the step `at`.

        One row a curve; the columns are named in `values.COLUMNS`.
        """
        with self._lock:
            return values_frame(self._labelled(), at)

    def save(self, path: str | Path) -> Path:
        """Write the shown charts to a file: .png and .svg are pictures, .csv has every step.

        Axis, smoothing, scales, window and hidden curves are as shown.

        Raises:
            ConfigError: the name has another suffix.
            RunError: it is not a path, or the file cannot be written.
        """
        target = output_path(path, RunError)
        if target.suffix[1:].lower() not in FORMATS:
            raise ConfigError([f"path={str(path)!r}: end it in .png, .svg or .csv."])
        return write_chart(self._file(), target)

    def close(self) -> None:
        """Close the charts."""
        if self._exports is not None:
            self._exports.close()
        super().close()

    def _labelled(self) -> dict[str, tuple[str, Recording]]:
        labels = {curve["key"]: curve["label"] for curve in self.curves}
        return {key: (labels[key], one) for key, one in self._recordings.items()}

    def _file(self) -> ChartFile:
        with self._lock:
            return ChartFile(
                curves=[dict(curve) for curve in self.curves if curve["key"] not in self.hidden],
                # Copies: a run in progress would add to them while the file is made.
                recordings=copy.deepcopy(self._recordings),
                axis=self.axis,
                smoothing=self.smoothing,
                scales=dict(self.scales),
                window=tuple(self.window),
                step_name=self.step_name,
                verdict=self.verdict,
            )

    def _on_message(self, _: Any, content: dict[str, Any], __: Any) -> None:
        match content:
            case {"kind": "sync"}:
                with self._lock:
                    self._send_recordings(self._recordings, full=True)
            case {"kind": "detail", "ranges": {**ranges}}:
                with self._lock:
                    self._send_detail(content.get("id"), ranges)
            case {"kind": "export", "id": str(request), "format": str(kind)} if kind in FORMATS:
                self._exports = self._exports or RequestThread("charts-export", lambda _: None)
                self._exports.ask(lambda: self._send_file(request, kind))

    def _send_file(self, request: str, kind: str) -> None:
        """Create the file here: the picture from the menu is then the one that `save` writes."""
        data, name, problem = b"", "", ""
        try:
            file = self._file()
            data, name = file.data(kind), f"{file.stem}.{kind}"
        except Exception as error:  # shown to the user who asked
            problem = f"The {kind.upper()} cannot be made: {error}"
        self.send({"kind": "file", "id": request, "name": name, "problem": problem}, [data])

    def _send_detail(self, request: Any, ranges: Mapping[Any, Any]) -> None:
        """Answer a view that is zoomed in; invalid requests are ignored."""
        parts, buffers = [], []
        for key, limits in ranges.items():
            recording = self._recordings.get(key)
            if recording is None or len(recording) == 0 or not is_range(limits):
                continue
            stride, start, blocks = recording.window(limits[0], limits[1], DETAIL_BLOCKS)
            part, data = block_part(blocks, stride, start, recording.totals_before(stride, start))
            parts.append({"key": key, **part})
            buffers.append(data)
        message = {"kind": "detail", "id": request, "generation": self._generation}
        self.send({**message, "parts": parts}, buffers)

    def _send_recordings(self, recordings: Mapping[str, Recording], *, full: bool) -> None:
        parts, buffers = [], []
        for key, recording in recordings.items():
            steps, sent_stride = (0, 1) if full else self._sent[key]
            stride = recording.stride_for(len(recording), OVERVIEW_BLOCKS)
            # Coarser blocks than those sent before replace all of them.
            start = steps // stride if stride == sent_stride else 0
            blocks = recording.blocks(stride, start)
            part, data = block_part(blocks, stride, start, recording.totals_before(stride, start))
            parts.append({"key": key, **part, **facts(recording)})
            buffers += [data, evaluation_buffer(recording), rank_memory_buffer(recording)]
            self._sent[key] = len(recording), stride
        self._changed -= recordings.keys()
        self._sequence += 1
        message = {
            "kind": "points",
            "generation": self._generation,
            "sequence": self._sequence,
            "full": full,
            "parts": parts,
            "spreads": spreads(self._recordings),
        }
        self.send(message, buffers)
