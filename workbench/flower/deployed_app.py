"""The two apps of a written project: `flwr run` runs them on the server and on the devices."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from workbench.errors import EngineError
from workbench.flower.client.client_app import Client, make_client_app
from workbench.flower.client.client_training import ClientTraining
from workbench.flower.client.withheld_errors import load_rows
from workbench.flower.grids.deployed_grid import DeployedGrid
from workbench.flower.grids.grid import ClientGrid
from workbench.flower.server.federated_worker import Server, train_federated
from workbench.run_folder.run_folder import RunFolder
from workbench.settings.config import read_config
from workbench.settings.federation import FederationOptions
from workbench.worker.process import run

SERVER_FOLDER = "server-folder"
"""The run folder, in the settings of the project."""

CLIENT_FOLDER, DATA_FOLDER, NUMBER = "client-folder", "data-folder", "client-number"
"""Settings of a device's SuperNode, which never leave it."""


def client_app(settings: Path) -> ClientApp:
    """The app of the devices.

    A device takes weights and a few numbers from the server: never a graph, and nothing that is
    unpickled. Its artifacts and its rows are in folders of its own.

    Args:
        settings: `settings.json` of the project.
    """
    written = json.loads(settings.read_text())
    options = FederationOptions.model_validate(written["options"])
    config = read_config(written["config"])

    def client_of(context: Context, _: dict[str, Any]) -> Client:
        folder = Path(_own(context, CLIENT_FOLDER))
        data = load_rows(Path(_own(context, DATA_FOLDER)))
        training = ClientTraining(folder / "model", folder / "artifacts", config, options)
        return Client(int(context.node_config.get(NUMBER, 0)), data, training)

    return make_client_app(options, client_of)


def _own(context: Context, name: str) -> str:
    found = context.node_config.get(name)
    if not isinstance(found, str):
        raise EngineError(f"this SuperNode has no {name}: start it with --node-config.")
    return found


def server_app() -> ServerApp:
    """The app of the server: it runs the rounds and writes them to the run folder.

    `wb.load_run` of that folder shows them, while they run and afterwards.
    """
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        folder = RunFolder(Path(str(context.run_config[SERVER_FOLDER])))

        @contextmanager
        def reach(server: Server) -> Iterator[ClientGrid]:
            most_rows = max(client["rows"] for client in server.clients)
            yield DeployedGrid(
                grid, server.options, server.statistics, most_rows, server.control.stop_requested
            )

        if run(folder, functools.partial(train_federated, reach=reach)):
            summary = folder.read_summary() or {}
            raise EngineError(str((summary.get("error") or {}).get("message")))

    return app
