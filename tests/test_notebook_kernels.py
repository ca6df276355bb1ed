"""The kernels in which nbval runs notebooks."""

from __future__ import annotations

import os
from pathlib import Path

import nbval.kernel
import pytest

from tests.notebook_kernels import KERNEL, connect_by_files


def test_a_kernel_needs_no_port_that_others_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nbval.kernel, "KernelManager", nbval.kernel.KernelManager)
    connect_by_files()
    with Path(os.devnull).open("w") as nowhere:
        manager, client = nbval.kernel.start_new_kernel(kernel_name=KERNEL, stderr=nowhere)
    try:
        assert manager.get_connection_info()["transport"] == "ipc"
        assert client.execute_interactive("1 + 1", timeout=60)["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
