"""Writes a project that `flwr run` runs on a server and on devices."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.artifacts import generate_from_saved
from workbench.data import Dataset
from workbench.data.target_specs import target_specs
from workbench.errors import DataError, RunFolderError
from workbench.federated.client_data import write_client_data
from workbench.federated.prepared import prepare_federation
from workbench.federated.splits import ClientSplit
from workbench.files.disk import disk_errors
from workbench.models import Model
from workbench.run_folder.run_folder import RunFolder
from workbench.runs import Run
from workbench.runs.launch import write_run_folder

TEMPLATES = ("pyproject.toml", "README.md", "__init__.py", "client_app.py", "server_app.py")
PACKAGE = "federated_app"


def app(
    path: str | Path,
    model: Model | str | Path,
    data: Dataset | str | None = None,
    *,
    clients: int = 8,
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
    folder = Path(path).absolute()
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
    dataset, options = prepared.data, prepared.options
    if dataset.test is None:
        raise DataError(
            f"{dataset.name!r} has no test split, which the server needs: training rows stay with "
            "the devices."
        )
    server = RunFolder(folder / "server")
    with disk_errors(folder):
        server.path.mkdir(parents=True)
        try:
            config = write_run_folder(
                server,
                prepared.model,
                Dataset(dataset.name, dataset.test, dataset.test, dataset.classes),
                prepared.config,
                detached=True,
                base=prepared.origin,
                federation=lambda _: prepared.record(
                    write_client_data(
                        lambda client: folder / "data" / str(client),
                        dataset,
                        prepared.assignment,
                        options.clients,
                    )
                ),
            )
            generate_from_saved(
                server.model_path,
                config,
                server.artifacts_path,
                targets=target_specs(dataset.train.targets),
                report=report,
            )
            client = folder / "client"
            shutil.copytree(server.model_path, client / "model")
            shutil.copytree(server.artifacts_path, client / "artifacts")
            _write_project(folder, server, options.clients)
            written = {"config": config.model_dump(), "options": options.model_dump()}
            (folder / PACKAGE / "settings.json").write_text(json.dumps(written, indent=1) + "\n")
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return folder


def _write_project(folder: Path, server: RunFolder, clients: int) -> None:
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
            server=str(server.path), folder=str(folder), clients=clients
        )
        target = package / name if name.endswith(".py") else folder / name
        target.write_text(text)
