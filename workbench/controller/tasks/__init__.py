"""Tasks of the page's steps besides training, one task a file."""

from __future__ import annotations

from workbench.controller.tasks.device_bundle import DeviceBundleTask
from workbench.controller.tasks.export_cache import ExportCacheTask
from workbench.controller.tasks.federated_app import FederatedAppTask
from workbench.controller.tasks.installation import InstallationTask
from workbench.controller.tasks.largest_batch import LargestBatchTask
from workbench.controller.tasks.minimal_build import MinimalBuildTask
from workbench.controller.tasks.nominal_checkpoint import NominalCheckpointTask
from workbench.controller.tasks.own_examples import OwnExamplesTask
from workbench.controller.tasks.task import Task
from workbench.controller.tasks.tuning import TuningTask
from workbench.controller.tasks.verification import VerificationTask

TASKS: tuple[Task, ...] = (
    InstallationTask(),
    LargestBatchTask(),
    VerificationTask(),
    DeviceBundleTask(),
    NominalCheckpointTask(),
    MinimalBuildTask(),
    ExportCacheTask(),
    TuningTask(),
    FederatedAppTask(),
    OwnExamplesTask(),
)
"""In the order in which a step shows them."""

__all__ = ["TASKS"]
