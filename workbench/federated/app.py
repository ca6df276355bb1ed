"""Writes a project that `flwr run` runs on a server and on devices."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.artifacts import generate_from_saved
from workbench.data import Dataset, Split
from workbench.data.target_specs import target_specs
from workbench.errors import DataError, RunFolderError
from workbench.federated.client_data import write_client_data
from workbench.federated.prepared import Prepared, prepare_federation
from workbench.federated.splits import ClientSplit
from workbench.files.disk import disk_errors
from workbench.files.user_path import user_path
from workbench.models import Model
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run
from workbench.runs.launch import write_run_folder
from workbench.settings.config import TrainingConfig
from workbench.settings.federation import FederationOptions

TEMPLATES = ("pyproject.toml", "README.md", "__init__.py", "client_app.py", "server_app.py")
PACKAGE = "federated_app"


def app(
    path: str | Path,
    model: Model | str | Path,
    data: Dataset | str | None = None,
    *,
    clients: int | None = None,
    rounds: int = 10,
    strategy: str = "fedavg",
    split: ClientSplit | None = None,
    base: Run | str | Path | None = None,
    report: Callable[[str], None] | None = None,
    **settings: Any,
) -> Path:
    """Write a project with Flower's `ServerApp` and `ClientApp`, which `flwr run` runs.

    Its README has the commands. Written are:

    - `server`: the run folder, for the server alone; `wb.load_run` shows the run. It holds the
      test split, which the server evaluates with, and no training rows.
    - `client`: the artifacts, which every device gets.
    - `data/0`, `data/1` ...: the rows of each client by `split`, to try it on one machine. A device
      has rows of its own, written by `Dataset.save`.

    Args:
        path: a new or empty folder.
        model: see `federate`.
        data: see `federate`; it needs a test split.
        clients: the most that take part; the first round waits for them until its time is over.
            None: see `federate`.
        rounds: see `federate`.
        strategy: see `federate`.
        split: see `federate`.
        base: see `federate`.
        report: called with short progress texts.
        **settings: see `federate`, less what is simulated: `unavailable`, `speed_spread`,
            `devices`, `processes`.

    Returns:
        The folder, absolute.

    Raises:
        RunFolderError: the folder is not empty or cannot be written.
        ConfigError, ModelError, DataError, EngineError: see `federate`.
    """
    folder = user_path(path).absolute()
    with disk_errors(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise RunFolderError(f"{folder} is not empty; give a new folder.")
    prepared = prepare_federation(
        model,
        data,
        {"clients": clients, "rounds": rounds, "strategy": strategy, **settings},
        split,
        base,
        deployed=True,
    )
    rows, name = prepared.data.test, prepared.data.name
    if rows is None:
        raise DataError(
            f"{name!r} has no test split, which the server needs: training rows stay with the "
            "devices."
        )
    server = RunFolder(folder / "server")
    with disk_errors(folder):
        server.path.mkdir(parents=True)
        try:
            config = _write_server(server, folder / "data", prepared, rows)
            _write_client(folder / "client", server, prepared, config, report)
            _write_project(folder, server, prepared.options, config)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return folder


def _write_server(
    server: RunFolder, client_data: Path, prepared: Prepared, rows: Split
) -> TrainingConfig:
    """Write the run folder, and the rows of each client; returns the config as it was written.

    Args:
        server: the run folder.
        client_data: takes a folder for each client.
        prepared: what the run folder is written from.
        rows: what the server evaluates with.
    """

    def write_clients(_: RunFolder) -> dict[str, Any]:
        described = write_client_data(
            lambda client: client_data / str(client),
            prepared.data,
            prepared.assignment,
            prepared.options.clients,
        )
        return prepared.record(described)

    return write_run_folder(
        server,
        prepared.model,
        Dataset(prepared.data.name, rows, rows, prepared.data.classes),
        prepared.config,
        detached=True,
        base=prepared.origin,
        federation=write_clients,
    )


def _write_client(
    client: Path,
    server: RunFolder,
    prepared: Prepared,
    config: TrainingConfig,
    report: Callable[[str], None] | None,
) -> None:
    """Write the artifacts and the model, which the server has too."""
    generate_from_saved(
        server.model_path,
        config,
        server.artifacts_path,
        targets=target_specs(prepared.data.train.targets),
        report=report,
    )
    shutil.copytree(server.model_path, client / "model")
    shutil.copytree(server.artifacts_path, client / "artifacts")


def _write_project(
    folder: Path, server: RunFolder, options: FederationOptions, config: TrainingConfig
) -> None:
    """Write the code that Flower runs, and its settings."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    package = folder / PACKAGE
    package.mkdir()
    templates = Environment(
        loader=PackageLoader("workbench.federated"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    for name in TEMPLATES:
        text = templates.get_template(f"{name}.jinja").render(
            server=str(server.path), folder=str(folder), clients=options.clients
        )
        target = package / name if name.endswith(".py") else folder / name
        target.write_text(text)
    settings = {"config": config.model_dump(), "options": options.model_dump()}
    (package / "settings.json").write_text(json.dumps(settings, indent=1) + "\n")
