"""Tries the families of operators of a graph by each other library, one after another.

`python -m workbench.tune.families REQUEST.json` is started by `workbench.tune.families.refine`. The
engines share this process, so that none has to start: their environment is that of the variant.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from workbench.child_process.child import serve
from workbench.errors import WorkbenchError
from workbench.extensions.native_extension import (
    DEVICE_KERNELS,
    TORCH_INTEROP,
    native_extension,
)
from workbench.files.json_file import write_json
from workbench.profiling.request import ProfilingRequest
from workbench.settings.config import TrainingConfig
from workbench.settings.engines import GraphKind
from workbench.settings.operator_kernels import (
    FAMILIES,
    PYTORCH,
    WORKBENCH,
    sentence_of,
    usual_libraries,
)
from workbench.tune.families.candidate import Candidate, Engines
from workbench.tune.families.time_shares import measured_times, shares_of
from workbench.tune.families.timed_pair import FASTER, TOLERANCE, difference, timed

BUDGET_S = 60.0
"""No family is started after this."""

LEAST_SHARE = 0.03
"""Share of the operators' time: a family below it cannot be distinguished from noise."""

Report = Callable[[str], None]


class _Search:
    """The fastest libraries so far, and the trials."""

    def __init__(self, request: ProfilingRequest, report: Report) -> None:
        self._engines, self._report = Engines(request), report
        assert request.config.graphs is not None, "only engines with families are tuned"
        self._graphs = request.config.graphs
        self._started = time.monotonic()
        self._usual = _usual_libraries(request.config)
        self._tried: list[dict[str, Any]] = []

    def run(self) -> dict[str, Any]:
        """Measure, and return the content of the answer.

        Raises:
            WorkbenchError: the variant itself cannot be trained.
        """
        self._report("profiling the step")
        times = measured_times(self._engines)
        self._report("building the variant")
        variant = fastest = self._engines.candidate({})
        for family, share in shares_of(self._graphs, times).items():
            if share < LEAST_SHARE:
                break
            for library in self._others(family):
                fastest = self._try(variant, fastest, family, library, share)
        refined = None if fastest is variant else self._refined(variant, fastest)
        for each in self._tried:
            # A later library of the family may have won over an earlier one.
            best = fastest.libraries.get(each["family"]) == each["library"]
            each["chosen"] = best and refined is not None
            if best and refined is None:
                each["problem"] = "the faster families together are not clearly faster"
        return {"families": self._tried, "refined": refined}

    def _others(self, family: str) -> list[str]:
        usual, needs = self._usual[family], _EXTENSIONS[self._graphs]
        return [
            each
            for each in FAMILIES[self._graphs][family]
            if each != usual and (each not in needs or _usable(needs[each]))
        ]

    def _try(
        self, variant: Candidate, fastest: Candidate, family: str, library: str, share: float
    ) -> Candidate:
        """The faster of the fastest so far and the same with one family by another library."""
        tried: dict[str, Any] = {"family": family, "library": library, "share": share}
        self._tried.append(tried)
        if time.monotonic() - self._started > BUDGET_S:
            tried["problem"] = "not measured: the time was up"
            return fastest
        self._report(f"trying {sentence_of({family: library})}")
        try:
            candidate = self._engines.candidate({**fastest.libraries, family: library})
        except WorkbenchError as error:
            tried["problem"] = str(error).splitlines()[0][:400]
            return fastest
        differs_by = difference(variant.results, candidate.results)
        if not differs_by <= TOLERANCE:
            tried["problem"] = f"its losses or gradients differ by {differs_by:.0e}"
            return fastest
        found, _ = timed(fastest.steps, candidate.steps)
        tried |= {"ratio": found.median, "low": found.low, "high": found.high}
        return candidate if found.high < FASTER else fastest

    def _refined(self, variant: Candidate, fastest: Candidate) -> dict[str, Any] | None:
        """All chosen families, relative to the variant, measured again; None: not clearly
        faster."""
        self._report("timing the faster families together")
        found, seconds = timed(variant.steps, fastest.steps, whole=True)
        if not found.high < 1:
            return None
        return {
            "step_ms": 1e3 * float(np.median(seconds)),
            "ratio": found.median,
            "low": found.low,
            "high": found.high,
            "rounds": len(seconds),
        }


_EXTENSIONS = {
    GraphKind.ORTMODULE: {PYTORCH: TORCH_INTEROP, WORKBENCH: DEVICE_KERNELS},
    GraphKind.DEVICE: {WORKBENCH: DEVICE_KERNELS},
}
"""Graphs -> library -> the extension that it requires."""


def _usable(extension: str) -> bool:
    return not native_extension(extension).problem


def _usual_libraries(config: TrainingConfig) -> dict[str, str]:
    """The libraries of the variant."""
    own = _usable(DEVICE_KERNELS)
    if config.graphs == GraphKind.DEVICE:
        return usual_libraries(config.graphs, own and config.device_kernels)
    options = config.ortmodule
    kernels = options.pytorch_kernels if _usable(TORCH_INTEROP) else "off"
    return usual_libraries(
        GraphKind.ORTMODULE, kernels, device_kernels=own and options.device_kernels
    )


def answer(report: Report) -> None:
    """Try the families, and write the result.

    Raises:
        WorkbenchError: the engine cannot train this model.
    """
    request = ProfilingRequest.read(Path(sys.argv[1]))
    with _one_export(request.config.graphs):
        found = _Search(request, report).run()
    write_json(request.answer_path, found)


def _one_export(graphs: GraphKind | None) -> AbstractContextManager[None]:
    """The modules that engines read from the request's folder are copies of one."""
    if graphs != GraphKind.ORTMODULE:
        return nullcontext()
    from workbench.ort.ortmodule.capture.export_once import shared_exports

    return shared_exports()


if __name__ == "__main__":
    serve(answer)
