"""`python -m workbench.verification REQUEST.json`: loss and gradients of one engine, or by finite
differences; in a child process, as native code may crash.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from workbench.child_process.child import serve
from workbench.data import Batch, load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.verification.request import (
    FINITE_DIFFERENCES,
    VerificationAnswer,
    VerificationRequest,
)

Report = Callable[[str], None]


def answer(report: Report) -> None:
    """Compute loss and gradients for the request and write them.

    Raises:
        WorkbenchError: the engine cannot train this model.
    """
    request = VerificationRequest.read(Path(sys.argv[1]))
    split = load_saved_dataset(request.data).train
    batch = next(split.in_order(len(split)))
    if request.engine == FINITE_DIFFERENCES:
        from workbench.verification.finite_differences import measure

        measure(request, batch, report).write(request.answer_path)
    else:
        _of_engine(request, batch, report).write(request.answer_path)


def _of_engine(request: VerificationRequest, batch: Batch, report: Report) -> VerificationAnswer:
    from workbench.engines import engine_class
    from workbench.engines.base import EngineSetup

    engine = engine_class(request.engine)(
        EngineSetup(
            model_path=request.model,
            artifacts_path=request.work / "artifacts",
            config=request.config,
            report=report,
            targets=target_specs(batch.targets),
            disable_randomness=True,
            fresh_process=True,
        )
    )
    report("computing the gradients")
    found = engine.gradients(batch)
    return VerificationAnswer(found.loss, found.gradients)


if __name__ == "__main__":
    serve(answer)
