"""An engine with some families of operators by other libraries."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Mapping
from pathlib import Path

from workbench.artifacts.generate import ArtifactsInProcess
from workbench.data import Batch, load_saved_dataset
from workbench.data.target_specs import target_specs
from workbench.engines.base import Engine, Gradients
from workbench.profiling.request import ProfilingRequest
from workbench.profiling.steps import EngineSteps
from workbench.settings.engines import engine_info
from workbench.settings.operator_kernels import as_choices, check_choices
from workbench.tuning_results.choose import with_operator_kernels


class Candidate:
    """An engine that has taken its first steps."""

    results: Gradients
    """Loss and gradients of the first batch, before these steps."""

    def __init__(self, request: ProfilingRequest, libraries: Mapping[str, str]) -> None:
        self.libraries = libraries
        self.steps = EngineSteps(request, lambda _: None, before=self._keep_results)

    def _keep_results(self, engine: Engine, batch: Batch) -> None:
        self.results = engine.gradients(batch)


class Engines:
    """Builds candidates, all of one variant."""

    def __init__(self, request: ProfilingRequest) -> None:
        """
        Args:
            request: of the variant; its work folder exists as long as candidates are built.
        """
        self.request = request
        targets = target_specs(load_saved_dataset(request.data).train.targets)
        self._artifacts = ArtifactsInProcess(request.model, targets)

    def candidate(self, libraries: Mapping[str, str]) -> Candidate:
        """Build a candidate.

        Raises:
            WorkbenchError: it cannot be built, or a step failed.
        """
        gc.collect()  # of an earlier one, whose engine is in reference cycles
        config = self.request.config
        assert config.graphs is not None, "only engines with families are tuned"
        choices = check_choices(config.graphs, as_choices(libraries))
        config = with_operator_kernels(config, choices)
        work = Path(tempfile.mkdtemp(dir=self.request.work))
        request = self.request._replace(config=config, work=work)
        if engine_info(config.engine).trains_artifacts:
            self._artifacts.write(config, request.artifacts_path)
        return Candidate(request, libraries)
