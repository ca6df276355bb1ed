"""Tasks of the page's steps besides training, one task a file."""

from __future__ import annotations

from workbench.controller.tasks.device_bundle import DeviceBundleTask
from workbench.controller.tasks.export_cache import ExportCacheTask
from workbench.controller.tasks.federated_app import FederatedAppTask
from workbench.controller.tasks.task import Task
from workbench.controller.tasks.tuning import TuningTask
from workbench.controller.tasks.verification import VerificationTask

TASKS: tuple[Task, ...] = (
    VerificationTask(),
    DeviceBundleTask(),
    ExportCacheTask(),
    TuningTask(),
    FederatedAppTask(),
)
"""In the order in which a step shows them."""

__all__ = ["TASKS"]
