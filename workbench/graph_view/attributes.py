"""The attributes of a node, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.graph_view.description import shape_text

if TYPE_CHECKING:
    import onnx

_LONGEST = 200
"""Characters of a value; longer ones are cut."""

_MOST = 24
"""Elements of a list that are shown."""


def attribute_texts(node: onnx.NodeProto) -> list[tuple[str, str]]:
    """Name and value of each attribute; tensors and graphs by their size alone."""
    return [(attribute.name, _cut(_text(attribute))) for attribute in node.attribute]


def _text(attribute: onnx.AttributeProto) -> str:
    import onnx

    kinds = onnx.AttributeProto
    texts: dict[int, Callable[[], str]] = {
        kinds.FLOAT: lambda: f"{attribute.f:.6g}",
        kinds.INT: lambda: str(attribute.i),
        kinds.STRING: lambda: attribute.s.decode("utf-8", "replace"),
        kinds.TENSOR: lambda: _tensor(attribute.t),
        kinds.GRAPH: lambda: f"a graph of {len(attribute.g.node):,} nodes",
        kinds.FLOATS: lambda: _list([f"{value:.6g}" for value in attribute.floats[: _MOST + 1]]),
        kinds.INTS: lambda: _list([str(value) for value in attribute.ints[: _MOST + 1]]),
        kinds.STRINGS: lambda: _list(
            [text.decode("utf-8", "replace") for text in attribute.strings[: _MOST + 1]]
        ),
    }
    other = str(kinds.AttributeType.Name(attribute.type)).lower().replace("_", " ")
    return texts.get(attribute.type, lambda: other)()


def _tensor(tensor: onnx.TensorProto) -> str:
    import onnx

    kind = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
    return f"{kind} tensor, {shape_text(tensor.dims)}"


def _list(texts: list[str]) -> str:
    more = ", …" if len(texts) > _MOST else ""
    return f"[{', '.join(texts[:_MOST])}{more}]"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
