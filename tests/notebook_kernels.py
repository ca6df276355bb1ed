"""The kernels of notebooks: forks of the process that has imported what notebooks do.

The tour alone runs as people run it: in a kernel that imports everything, with workers that do so.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from tests.fork_server import ADDRESS, ForkServer, forked

KERNEL = "forked"
"""Name of the kernelspec."""
WITHOUT_FORKS = ("00_tour.ipynb",)
CELL_S = {"03_scale_out.ipynb": 240, "04_federated.ipynb": 240}
"""After how long a cell is given up: ranks and clients that wait for each other would wait for the
ten minutes that other tests have. A cell takes up to one minute, and more on a busy machine."""

SWEPT = ("01_ortmodule.ipynb", "02_on_device.ipynb")
"""Take minutes: one exports four transformers and compiles one, the other trains on device in every
way there is. tests/ort/ortmodule, tests/artifacts and tests/personalisation do the same with small
models."""


def offer_forked_kernels(server: ForkServer) -> None:
    """Write the kernelspec where Jupyter looks for it."""
    folder = Path(server.address).parent / "jupyter"
    launcher = forked("-m", "ipykernel_launcher", "-f", "{connection_file}")
    spec = {"argv": launcher, "display_name": "Python 3 (forked)", "language": "python"}
    path = folder / "kernels" / KERNEL / "kernel.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(spec), encoding="utf-8")
    os.environ["JUPYTER_PATH"] = str(folder)


def choose_kernels(items: Iterable[pytest.Item]) -> None:
    """Name the kernel of each notebook whose cells are tested, and limit their time."""
    cells = [item for item in items if hasattr(item.parent, "nb")]
    if cells:
        connect_by_files()
    for cell in cells:
        if cell.path.name in SWEPT:
            cell.add_marker(pytest.mark.sweep)
        if cell.path.name in CELL_S:
            cell.add_marker(pytest.mark.timeout(CELL_S[cell.path.name]))
    for notebook in {cell.parent for cell in cells}:
        from nbval.kernel import CURRENT_ENV_KERNEL_NAME  # takes long to import

        forked = notebook.path.name not in WITHOUT_FORKS
        kernel = KERNEL if forked else CURRENT_ENV_KERNEL_NAME
        notebook.nb.metadata["kernelspec"]["name"] = kernel


def connect_by_files() -> None:
    """Connect nbval to its kernels by sockets that are files, in the place of ports.

    A port is chosen before the kernel is started, and the kernel binds it seconds later. Another
    process of the tests may have it by then, and the kernel ends without a word.
    """
    import nbval.kernel

    nbval.kernel.KernelManager = _kernel_manager


def _kernel_manager(**options: Any) -> KernelManager:
    """One whose sockets have names of their own: by default all have the same, in this folder."""
    sockets = Path(os.environ[ADDRESS]).parent / uuid.uuid4().hex
    return KernelManager(transport="ipc", ip=str(sockets), **options)
