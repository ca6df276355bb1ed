"""Clients of a simulation as Flower's `ClientApp`, where privacy needs Flower's mods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context, Message, RecordDict
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_STATE, Stage
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.proto.recorddict_pb2 import RecordDict as RecordDictProto
from flwr.supercore.task_identity import TaskIdentity

from workbench.errors import EngineError, RunFolderError
from workbench.files.output_file import replacing_file
from workbench.flower.client.client_app import Client, make_client_app
from workbench.flower.client.client_training import ClientReply, ClientTraining
from workbench.flower.client.frames import Frame
from workbench.flower.client.withheld_errors import load_rows
from workbench.settings.federation import FederationOptions

CONTENT = "content"
STATE = "flower-state"


class SimulatedApp:
    """Answers messages of Flower as any client of a run.

    What a client keeps between the messages of a round, keys of secure aggregation, is in its
    folder: the next message may find it in another process.
    """

    def __init__(self, training: ClientTraining, options: FederationOptions, seed: int) -> None:
        TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
        self._training = training
        self._seed = seed
        self._path = Path()
        self._client = 0
        self._app = make_client_app(options, self._client_of)

    def _client_of(self, _: Context, config: dict[str, Any]) -> Client:
        # Flower draws noise by numpy's generator: a simulated run repeats.
        np.random.seed([self._seed, self._client, int(config["round"])])
        return Client(self._client, load_rows(self._path), self._training)

    def answer(self, path: Path, frame: Frame) -> ClientReply:
        """Answer a message.

        Args:
            path: the client's folder.
            frame: `client`, its number; `node`, its id for Flower; `type` of the message; and its
                content.

        Raises:
            EngineError: Flower's mods refuse the message.
        """
        self._client, self._path = int(frame.facts["client"]), path
        node, kept = int(frame.facts["node"]), path / STATE
        state = unpacked(np.fromfile(kept, np.uint8)) if kept.is_file() else RecordDict()
        message = Message(
            unpacked(frame.arrays[CONTENT]), dst_node_id=node, message_type=frame.facts["type"]
        )
        message.metadata.__dict__["_message_id"] = "1"
        context = Context(1, node, {}, state, {})
        reply = self._app(message, context)
        if reply.has_error():
            kept.unlink(missing_ok=True)
            raise EngineError(reply.error.reason)
        if _under_way(context.state):
            with replacing_file(kept, RunFolderError) as new:
                new.write_bytes(packed(context.state).tobytes())
        else:
            kept.unlink(missing_ok=True)
        return ClientReply({}, {CONTENT: packed(reply.content)})


def _under_way(state: RecordDict) -> bool:
    """Whether secure aggregation has begun and not ended: its keys are for one round."""
    kept = state.config_records.get(RECORD_KEY_STATE)
    return kept is not None and kept["current_stage"] != Stage.UNMASK


def packed(content: RecordDict) -> np.ndarray:
    """A message's content as bytes, by Flower's protocol buffers."""
    return np.frombuffer(recorddict_to_proto(content).SerializeToString(), np.uint8)


def unpacked(data: np.ndarray) -> RecordDict:
    """The inverse of `packed`."""
    return recorddict_from_proto(RecordDictProto.FromString(data.tobytes()))
