"""The written project, run by `flwr run` against SuperLink and SuperNodes as real processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flwr", reason="flwr missing: pip install -e '.[federated]'")

import psutil

import workbench as wb
from tests.flower.certificates import write_certificates, write_key_pair
from workbench.federated import dirichlet

BIN = Path(sys.executable).parent
WAIT_S = 600
ROUND_TIMEOUT_S = 150.0
"""Longer than Flower takes to notice that a node is gone, 60 s: on a busy machine a node that is
alive takes a minute for a message, for which it starts a process."""

LATE = f"it did not answer within {ROUND_TIMEOUT_S:g} s."
GONE = "it is not connected."


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Deployment:
    """A SuperLink with TLS that lets in registered nodes alone, and its nodes."""

    def __init__(self, folder: Path, project: Path) -> None:
        self.folder, self.project = folder, project
        self.port = free_port()
        self.processes: list[subprocess.Popen[bytes]] = []
        home = folder / "flower"
        home.mkdir()
        self.environment = {
            **os.environ,
            "FLWR_HOME": str(home),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            # A proxy of the machine is not for addresses on it.
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": str(Path(wb.__file__).parents[1]),
        }
        write_certificates(folder)
        (home / "config.toml").write_text(
            '[superlink]\ndefault = "test"\n\n[superlink.test]\n'
            f'address = "127.0.0.1:{self.port}"\n'
            f'root-certificates = "{folder / "ca.crt"}"\n'
        )

    def start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(BIN / arguments[0]), *arguments[1:]],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment,
                cwd=self.folder,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def superlink(self) -> None:
        self.start(
            "superlink",
            *("flower-superlink", "--host", "127.0.0.1", "--port", str(self.port)),
            *("--ssl-ca-certfile", "ca.crt", "--ssl-certfile", "server.pem"),
            *("--ssl-keyfile", "server.key", "--enable-supernode-auth"),
            "--disable-runtime-dependency-installation",
        )
        self.until(lambda: listening(self.port), "the SuperLink listens")

    def supernode(self, number: int, registered: bool = True) -> subprocess.Popen[bytes]:
        name = f"device{number}"
        write_key_pair(self.folder, name)
        if registered:
            self.flwr("supernode", "register", str(self.folder / f"{name}.pub"), "test")
        config = (
            f'client-folder="{self.project / "client"}" '
            f'data-folder="{self.project / "data" / str(number)}" client-number={number}'
        )
        return self.start(
            name,
            *("flower-supernode", "--superlink", f"127.0.0.1:{self.port}"),
            *("--root-certificates", "ca.crt", "--auth-supernode-private-key", f"{name}.key"),
            *("--port", str(free_port()), "--node-config", config),
        )

    def flwr(self, *arguments: str) -> None:
        done = subprocess.run(
            [str(BIN / "flwr"), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr + self.logs()

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait for it while the SuperLink runs."""
        deadline = time.monotonic() + WAIT_S
        while not is_so():
            in_time = time.monotonic() < deadline and self.processes[0].poll() is None
            assert in_time, f"not in time: {what}\n{self.logs()}"
            time.sleep(0.2)

    def logs(self) -> str:
        return "\n".join(
            f"== {path.name}\n{path.read_text()[-3000:]}" for path in self.folder.glob("*.log")
        )


@contextmanager
def deployed(folder: Path, project: Path) -> Iterator[Deployment]:
    deployment = Deployment(folder, project)
    try:
        yield deployment
    finally:
        for process in deployment.processes:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End it with all that it started, as when a device is switched off."""
    with_children = []
    if process.poll() is None:
        with_children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
    for child in with_children:
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()


def listening(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.sweep
@pytest.mark.timeout(1800)
def test_rounds_on_real_nodes_go_on_when_one_dies(tmp_path: Path) -> None:
    project = wb.federated.app(
        tmp_path / "project",
        "digits-mlp",
        clients=2,
        rounds=3,
        split=dirichlet(1.0),
        learning_rate=5e-3,
        round_timeout_s=ROUND_TIMEOUT_S,
    )
    with deployed(tmp_path, project) as deployment:
        deployment.superlink()
        first, second = deployment.supernode(0), deployment.supernode(1)
        stranger = deployment.supernode(2, registered=False)
        deployment.flwr("run", str(project), "test")
        server = project / "server"

        def rounds() -> int:
            federation = wb.load_run(server).federation
            return 0 if federation is None else len(federation.rounds)

        deployment.until(lambda: rounds() >= 1, "the first round")
        end(second)
        deployment.until((server / "summary.json").exists, "the run ends")
        assert first.poll() is None
        run = wb.load_run(server)
        assert run.status == "completed", run.error
        assert stranger.wait(WAIT_S) != 0, "who is not registered is not let in"
        assert "Failed to activate SuperNode" in (tmp_path / "device2.log").read_text()
    federation: Any = run.federation
    assert federation.rounds["clients"].iloc[0] == 2
    assert federation.rounds["left_out"].iloc[-1] == 1
    left_out = federation.clients.query("left_out != ''")
    reasons = set(left_out["left_out"])
    assert set(left_out["client"]) == {int(left_out["client"].iloc[0])}, "one of them"
    assert reasons <= {LATE, GONE}, reasons
    assert len(run.evaluations) == 3
    assert run.evaluations["loss"].iloc[-1] < run.evaluations["loss"].iloc[0]


@pytest.mark.sweep
@pytest.mark.timeout(1800)
def test_secure_aggregation_and_noise_on_real_nodes(tmp_path: Path) -> None:
    project = wb.federated.app(
        tmp_path / "project",
        "digits-mlp",
        clients=3,
        rounds=1,
        split=dirichlet(5.0),
        round_timeout_s=ROUND_TIMEOUT_S,
        privacy="central",
        noise_multiplier=0.1,
        secure_aggregation=True,
    )
    server = project / "server"
    with deployed(tmp_path, project) as deployment:
        deployment.superlink()
        for number in range(3):
            deployment.supernode(number)
        deployment.flwr("run", str(project), "test")
        deployment.until((server / "summary.json").exists, "the run ends")
    run = wb.load_run(server)
    assert run.status == "completed", run.error
    federation: Any = run.federation
    assert federation.rounds["clients"].tolist() == [3]
    assert federation.rounds["epsilon"].iloc[0] == pytest.approx(91.817, abs=1e-3)
    start = wb.load_model("digits-mlp").weights()
    moved = {name: abs(value - start[name]).max() for name, value in run.weights().items()}
    assert all(value > 0 for value in moved.values()), moved
