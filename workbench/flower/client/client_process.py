"""Runs the clients of federated training: `python -m workbench.flower.client.client_process`.

It answers one message after the other, each for one client. It loads no torch, and Flower only for
messages to Flower's `ClientApp`, which privacy needs: 40 MB more.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.flower.client.client_training import ClientReply, ClientTraining
from workbench.flower.client.frames import Frame, read_frame, write_frame
from workbench.flower.client.withheld_errors import load_rows
from workbench.run_folder.run_folder import RunFolder
from workbench.settings.config import read_config
from workbench.settings.federation import FederationOptions


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    # Native code prints to the standard output.
    os.dup2(2, 1)
    clients = Clients(RunFolder(Path(sys.argv[1])))
    while True:
        try:
            frame = read_frame(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = clients.answer(frame)
        except WorkbenchError as error:
            answer = ClientReply({"error": str(error)}, {})
        except (
            Exception
        ) as error:  # reported to the server, which leaves the client out of the round
            answer = ClientReply({"error": f"{type(error).__name__}: {error}"}, {})
        write_frame(answers, answer.facts, answer.arrays)


class Clients:
    """Answers for any client of a run."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        spec = folder.read_spec()
        config = self._config = read_config(spec["config"])
        self._options = FederationOptions.model_validate(spec["federation"]["options"])
        self._training = ClientTraining(
            folder.model_path, folder.artifacts_path, config, self._options
        )
        self._app: Any = None

    def answer(self, frame: Frame) -> ClientReply:
        """Do what a message asks for.

        Args:
            frame: `client`, its number, and a message of Flower; or `task`, "train" or "evaluate",
                `round`, from 1, for training `proximal_mu`, and the global weights.

        Raises:
            WorkbenchError: it cannot be done.
        """
        facts, client = frame.facts, int(frame.facts["client"])
        path = self._folder.client_path(client)
        if facts["task"] == "message":
            if self._app is None:
                from workbench.flower.client.simulated_app import SimulatedApp

                self._app = SimulatedApp(self._training, self._options, self._config.seed)
            return self._app.answer(path, frame)  # type: ignore[no-any-return]
        data = load_rows(path)
        if facts["task"] == "evaluate":
            return self._training.evaluate(data, frame.arrays)
        return self._training.train(
            client,
            data,
            frame.arrays,
            round_number=int(facts["round"]),
            proximal_mu=float(facts["proximal_mu"]),
        )


if __name__ == "__main__":
    main()
