"""The worker process of a simulated federated run: `python -m workbench.flower RUN_FOLDER`."""

from __future__ import annotations

from workbench.child_process.quick_exit import quick_exit
from workbench.flower.server.federated_worker import train_federated
from workbench.worker.process import main

if __name__ == "__main__":
    quick_exit(main(train_federated))
