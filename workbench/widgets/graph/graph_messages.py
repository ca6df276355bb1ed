"""The messages between a graph view and the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.display.encodable import encodable
from workbench.errors import ConfigError, WorkbenchError, exception_text
from workbench.graph_view import GraphFile
from workbench.graph_view.formats.binary import to_bytes
from workbench.graph_view.formats.model_explorer import model_explorer_text
from workbench.graph_view.formats.node_data import node_data_text
from workbench.graph_view.node_costs import node_costs, profiled_engine
from workbench.profiling.engine_profile import doubt_sentence

if TYPE_CHECKING:
    from workbench.controller.background.graph_reader import GraphReader
    from workbench.profiling import Profile

Content = dict[str, Any]


def answers(
    content: Content, reader: GraphReader, profile: Profile | None, name: str
) -> Iterator[tuple[Content, list[bytes]]]:
    """The answers to a message of a view, with their buffers; on the reader's thread.

    Invalid messages are not answered.

    Raises:
        WorkbenchError: the requested data cannot be read.
    """
    number = content.get("number")
    match content:
        case {"kind": "graph", "key": str(key)}:
            file = reader.read(key)
            yield {"kind": "graph", "key": key}, [to_bytes(file.description)]
            if profile is not None:
                yield painted_message(file, profile)[:2]
        case {"kind": "details", "key": str(key), "index": int(index)}:
            details = reader.read(key).node_details(index)
            yield {"kind": "details", "number": number, "details": details}, []
        case {"kind": "tensor", "key": str(key), "name": str(tensor)}:
            summary = reader.read(key).tensor_summary(tensor).to_dict()
            yield {"kind": "tensor", "number": number, "summary": summary}, []
        case {"kind": "model-explorer", "shown": list(shown)}:
            text = model_explorer_text([reader.read(str(each)) for each in shown], name)
            yield {"kind": "file", "name": f"{name}.json"}, [text.encode()]
        case {"kind": "node-data", "shown": list(shown), "by": str(by)}:
            files = [reader.read(str(each)) for each in shown]
            text = node_data_text(files, profile, by or "time")
            yield {"kind": "file", "name": f"{name}-{by or 'time'}.json"}, [text.encode()]


def painted_message(file: GraphFile, profile: Profile) -> tuple[Content, list[bytes], str]:
    """Microseconds and bytes of each node as float32, NaN where unknown; and which were matched.

    Raises:
        ConfigError: the profile names no nodes.
    """
    found = node_costs(file.description, profile)
    columns = (found.times_us, found.result_bytes)
    buffers = [
        np.asarray([np.nan if each is None else each for each in column], "<f4").tobytes()
        for column in columns
    ]
    content = {"kind": "painted", "key": file.description.key, "engine": found.engine}
    return content, buffers, found.sentence


def refused_message(content: Content, error: Exception) -> Content:
    """The answer to a message that raised `error`."""
    asked = {name: content.get(name) for name in ("number", "key")}
    return {"kind": "refused", **asked, "message": sentence(error)}


def doubt(profile: Profile) -> str:
    """Why the times that are painted are to be doubted, in sentences; empty: they are not."""
    return doubt_sentence(profiled_engine(profile))


def sentence(error: Exception) -> str:
    """Message of an error, for display."""
    if isinstance(error, ConfigError):
        return encodable(" ".join(error.problems))
    return encodable(str(error) if isinstance(error, WorkbenchError) else exception_text(error))
