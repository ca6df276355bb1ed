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
from workbench.extensions.native_extension import native_extension
from workbench.files.json_file import write_json
from workbench.profiling.request import ProfilingRequest
from workbench.settings.config import TrainingConfig
from workbench.settings.engines import engine_info
from workbench.settings.operator_kernels import (
    FAMILIES,
    sentence_of,
    usual_libraries,
    without_kernels,
)
from workbench.tune.families.candidate import Candidate, Engines
from workbench.tune.families.shares import measured_times, shares_of
from workbench.tune.families.trial import FASTER, TOLERANCE, difference, timed

BUDGET_S = 60.0
"""No family is begun after this."""

LEAST_SHARE = 0.03
"""Of the operators' time: a family below it cannot be told from noise."""

Report = Callable[[str], None]


class _Search:
    """The fastest libraries so far, and what was tried."""

    def __init__(self, request: ProfilingRequest, report: Report) -> None:
        self._engines, self._report = Engines(request), report
        self._engine = request.config.engine
        self._started = time.monotonic()
        self._usual = _usual_libraries(request.config)
        self._tried: list[dict[str, Any]] = []

    def run(self) -> dict[str, Any]:
        """What the answer holds.

        Raises:
            WorkbenchError: the variant itself cannot be trained.
        """
        self._report("profiling the step")
        times = measured_times(self._engines)
        self._report("building the variant")
        variant = fastest = self._engines.candidate({})
        for family, share in shares_of(self._engine, times).items():
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
                each["problem"] = "all that was faster, together, is not clearly faster"
        return {"families": self._tried, "refined": refined}

    def _others(self, family: str) -> list[str]:
        usable = native_extension(engine_info(self._engine).extension).problem == ""
        known = FAMILIES[self._engine][family]
        usual = self._usual[family]
        return [each for each in known if each != usual and (usable or each != known[0])]

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
        """All that won, over the variant, measured once more; None: not clearly faster."""
        self._report("timing all that was faster together")
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


def _usual_libraries(config: TrainingConfig) -> dict[str, str]:
    """Those of the variant."""
    if native_extension(engine_info(config.engine).extension).problem:
        return without_kernels(config.engine)
    if config.engine == "ondevice":
        return usual_libraries(config.engine, config.device_kernels)
    return usual_libraries(config.engine, config.ortmodule.pytorch_kernels)


def answer(report: Report) -> None:
    """Try the families, and write what was found.

    Raises:
        WorkbenchError: the engine cannot train this model.
    """
    request = ProfilingRequest.read(Path(sys.argv[1]))
    with _one_export(request.config.engine):
        found = _Search(request, report).run()
    write_json(request.answer_path, found)


def _one_export(engine: str) -> AbstractContextManager[None]:
    """The modules that engines read from the request's folder are copies of one."""
    if engine != "ortmodule":
        return nullcontext()
    from workbench.ort.ortmodule.capture.shared_export import shared_exports

    return shared_exports()


if __name__ == "__main__":
    serve(answer)
