"""The record of a federated run beside its steps: clients and rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.run_folder.events import Event
from workbench.run_folder.run_folder import RunFolder
from workbench.run_folder.run_reader import RunReader
from workbench.settings.config import TrainingConfig
from workbench.settings.federation import FederationOptions

if TYPE_CHECKING:
    import pandas as pd

_ROUND = ["round", "seconds", "clients", "left_out", "sent_bytes", "received_bytes"]
_SIMULATED = ["simulated_seconds"]
_PRIVACY = ["epsilon", "clipping_norm"]
_CLIENT = [
    *("round", "client", "rows", "samples", "loss", "test_loss", "accuracy", "seconds"),
    *("peak_rss_bytes", "left_out"),
]


class Federation:
    """The clients and rounds of a federated run.

    Attributes:
        options: the settings.
        split: name of the way in which the rows are divided.
        simulated: whether the clients are processes of this machine.
    """

    def __init__(self, folder: RunFolder, record: dict[str, Any]) -> None:
        self._folder = folder
        self._clients: list[dict[str, Any]] = record["clients"]
        self.options = FederationOptions.model_validate(record["options"])
        self.split = str(record["split"])
        self.simulated = not record.get("deployed", False)

    def __repr__(self) -> str:
        options = self.options
        return (
            f"<Federation: {options.clients} clients by {self.split}, {options.rounds} rounds of "
            f"{options.strategy}>"
        )

    @property
    def data(self) -> pd.DataFrame:
        """One row per client: rows, test_rows, and the training rows of each class if rows have
        one."""
        import pandas as pd

        rows = [{"rows": each["rows"], "test_rows": each["test_rows"]} for each in self._clients]
        frame = pd.DataFrame(rows).rename_axis("client")
        counts = [each.get("classes") for each in self._clients]
        if all(counts):
            classes = pd.DataFrame(counts, index=frame.index)
            frame = frame.join(classes.rename(columns=lambda index: f"class {index}"))
        return frame

    @property
    def rounds(self) -> pd.DataFrame:
        """One row per round so far.

        Columns: round (from 1), seconds, clients (that trained), left_out (clients that took no
        part), sent_bytes and received_bytes (by the server); of a simulation simulated_seconds
        (had each client a device of its own, as slow as `speed_spread` says: the slowest training
        and the slowest evaluation, each at most `round_timeout_s`; the network takes no time); with
        privacy epsilon (spent so far, at `options.delta`) and clipping_norm (of the round).
        """
        import pandas as pd

        rows = []
        for event in self._events():
            trained = sum("loss" in client for client in event["clients"])
            left_out = sum("left_out" in client for client in event["clients"])
            row = {"round": event["step"], "clients": trained, "left_out": left_out}
            rows.append({**event, **row})
        privacy = [] if self.options.privacy is None else _PRIVACY
        simulated = _SIMULATED if self.simulated else []
        return pd.DataFrame(rows, columns=[*_ROUND, *simulated, *privacy])

    @property
    def clients(self) -> pd.DataFrame:
        """One row per client and round so far; clients that were not chosen have none.

        Columns: round (from 1), client (from 0), rows, samples (rows times passes), loss (mean
        while training), test_loss and accuracy (of the global weights on its test rows), seconds
        (of training), peak_rss_bytes (of the process that it ran in), left_out (why it took no
        part, else empty); of a simulation simulated_seconds (of training, on its own device).
        """
        import pandas as pd

        rows = [
            {"left_out": "", **client, "round": event["step"]}
            for event in self._events()
            for client in event["clients"]
        ]
        return pd.DataFrame(rows, columns=[*_CLIENT, *(_SIMULATED if self.simulated else [])])

    def description(self, config: TrainingConfig) -> str:
        """Description of the local training and of privacy in a run of `config`."""
        options = self.options
        passes = (
            f"{options.local_epochs} local epoch{'' if options.local_epochs == 1 else 's'}"
            if options.local_steps is None
            else f"at most {options.local_steps} local steps"
        )
        parts = [
            f"batch {config.batch_size}",
            passes,
            f"{100 * options.fraction:.0f} % of the clients in a round",
        ]
        if options.privacy is not None:
            noise = f"noise {options.noise_multiplier:g} times its norm"
            parts.append(f"{options.clipping} clipping, {noise}")
        if options.secure_aggregation:
            parts.append("secure aggregation")
        where = "simulated on one machine" if self.simulated else "deployed"
        return f"{', '.join(parts)}; {where}"

    def _events(self) -> list[Event]:
        events = RunReader(self._folder).poll().events
        return [event for event in events if event["event"] == "round"]
