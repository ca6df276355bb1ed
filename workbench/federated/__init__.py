"""`wb.federate` and `wb.federated`: starts federated training; the processes are in `flower`.

It starts runs and reads their folders; it imports neither Flower nor an engine.
"""

from __future__ import annotations

from workbench.federated.app import app
from workbench.federated.federate import federate
from workbench.federated.group_split import groups
from workbench.federated.splits import ClientSplit, dirichlet, feature_shift, iid, quantity

__all__ = [
    "ClientSplit",
    "app",
    "dirichlet",
    "feature_shift",
    "federate",
    "groups",
    "iid",
    "quantity",
]
