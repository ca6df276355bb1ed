"""The worker of a run: `python -m workbench.worker RUN_FOLDER`. Exit status: see `process`."""

from __future__ import annotations

from workbench.child_process.quick_exit import quick_exit
from workbench.worker.process import main
from workbench.worker.train_run import train_run

if __name__ == "__main__":
    quick_exit(main(train_run))
