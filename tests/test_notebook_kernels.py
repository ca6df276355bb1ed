"""The kernels in which nbval runs notebooks."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import nbval.kernel
import pytest

from tests.notebook_kernels import KERNEL, connect_by_files


def test_kernels_side_by_side_need_no_port_that_others_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nbval.kernel, "KernelManager", nbval.kernel.KernelManager)
    connect_by_files()
    with ExitStack() as stack:
        nowhere = stack.enter_context(Path(os.devnull).open("w"))
        clients = {}
        for name in ("one", "two"):
            manager, client = nbval.kernel.start_new_kernel(kernel_name=KERNEL, stderr=nowhere)
            stack.callback(manager.shutdown_kernel, now=True)
            stack.callback(client.stop_channels)
            assert manager.get_connection_info()["transport"] == "ipc"
            client.execute_interactive(f"name = {name!r}", timeout=60)
            clients[name] = client
        for name, client in clients.items():
            answer = client.execute_interactive(f"assert name == {name!r}", timeout=60)
            assert answer["content"]["status"] == "ok"
