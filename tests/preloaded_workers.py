"""Imports of the workers of runs whose engine has no PyTorch in its process.

Imported by their fork server alone, once.
"""

from __future__ import annotations

from importlib import import_module

# Nothing of workbench.worker: it measures the process that imports it.
for name in (
    *("workbench.engines.fake", "workbench.engines.ondevice.engine", "workbench.data"),
    *("flwr.app", "flwr.clientapp", "flwr.serverapp.strategy", "flwr.supercore.task_identity"),
):
    import_module(name)
