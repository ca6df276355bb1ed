"""Messages to a page are handled while a cell runs, where the kernel can do that."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

PATIENCE_S = 60

MAKE = """
import threading, ipywidgets
from workbench.widgets.subshell import answer_while_busy
pressed = threading.Event()
button = ipywidgets.Button()
button.on_click(lambda _: pressed.set())
answer_while_busy(ipywidgets.Box(children=[button]))
print("id", button.comm.comm_id)
"""


@pytest.fixture
def kernel() -> Iterator[BlockingKernelClient]:
    manager = KernelManager(transport="ipc")
    manager.start_kernel()
    client = manager.client()
    assert isinstance(client, BlockingKernelClient)
    client.start_channels()
    client.wait_for_ready(timeout=PATIENCE_S)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def printed(client: BlockingKernelClient) -> str:
    """The next text that the kernel prints."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            message = client.get_iopub_msg(timeout=1)
        except queue.Empty:
            continue
        if message["msg_type"] == "stream":
            return str(message["content"]["text"])
        assert message["msg_type"] != "error", message["content"]
    pytest.fail("the kernel printed nothing")


def request(client: BlockingKernelClient, channel: str, kind: str, content: Any) -> Any:
    """Send a message and wait for its reply."""
    message = client.session.msg(kind, content)
    getattr(client, f"{channel}_channel").send(message)
    read = getattr(client, f"get_{channel}_msg")
    while True:
        reply = read(timeout=PATIENCE_S)
        if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
            return reply["content"]


def test_a_press_arrives_while_a_cell_runs(kernel: BlockingKernelClient) -> None:
    info = request(kernel, "shell", "kernel_info_request", {})
    if "kernel subshells" not in info.get("supported_features", ()):
        pytest.skip("this kernel has no subshells")
    subshell = request(kernel, "control", "create_subshell_request", {})["subshell_id"]
    kernel.execute(MAKE)
    comm_id = printed(kernel).split()[-1]
    kernel.execute("print(pressed.wait(30))")
    press = kernel.session.msg(
        "comm_msg",
        {"comm_id": comm_id, "data": {"method": "custom", "content": {"event": "click"}}},
    )
    press["header"]["subshell_id"] = subshell
    kernel.shell_channel.send(press)
    assert printed(kernel).strip() == "True"


def test_a_press_for_a_subshell_of_the_kernel_before_arrives(kernel: BlockingKernelClient) -> None:
    """Another client has restarted the kernel, of which JupyterLab knows nothing."""
    kernel.execute(MAKE)
    comm_id = printed(kernel).split()[-1]
    press = kernel.session.msg(
        "comm_msg",
        {"comm_id": comm_id, "data": {"method": "custom", "content": {"event": "click"}}},
    )
    press["header"]["subshell_id"] = "of-the-kernel-before"
    kernel.shell_channel.send(press)
    kernel.execute("print(pressed.wait(30))")
    assert printed(kernel).strip() == "True"
