"""The origin of each node of the graphs, recorded when the artifacts are generated.

`provenance.json` is a separate file, which a device does not read. Nodes are identified by
their position in forward_model.onnx, training_model.onnx and eval_model.onnx.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import BaseModel

from workbench.artifacts.manifest_record import PROVENANCE
from workbench.errors import ArtifactsError, RunFolderError
from workbench.files.format_version import refuse_newer_format
from workbench.files.input_file import is_file
from workbench.files.json_file import read_json
from workbench.onnx_io.graph_metadata import ADAPTER, LAYER
from workbench.run_folder.records import check_record

if TYPE_CHECKING:
    import onnx

    from workbench.artifacts.generation.trainable_graph import TrainableGraph
    from workbench.ort.graph.node_origins import NodeOrigin

FORMAT_VERSION = 3

MadeBy = Literal["export", "loss", "rewrite", "fusion", "gradient", "update", "lora"]

UPDATES = "writes the gradient, or the next value, of"
OWN_GRADIENT = "a gradient of the workbench's own, where ONNX Runtime has none or a wrong one"
SEEDED = "draws by the seed of the run"


class NodeProvenance(NamedTuple):
    """Origin of one node."""

    made_by: MadeBy
    """Origin of the node: "export", the exporter; "loss", added by the workbench with the loss;
    "rewrite", added or changed by a rewrite; "fusion", ONNX Runtime's graph optimizer; "gradient",
    added to compute gradients; "update", writes a gradient or a buffer for the next step; "lora",
    adds an adapter."""
    origins: tuple[int, ...]
    """Positions in the forward graph of the nodes that it replaces, or whose gradient it is."""
    layer: str
    """Name of the module that these came from; empty if unknown."""
    note: str
    """Description of the change, in a clause; may be empty."""


class Provenance(NamedTuple):
    """Origins of the nodes of the graphs, in their order."""

    forward: tuple[NodeProvenance, ...]
    training: tuple[NodeProvenance, ...]
    eval: tuple[NodeProvenance, ...] | None
    """None where an older workbench recorded none. Their `origins` are empty."""


class _NodeRecord(NamedTuple):
    made_by: MadeBy
    origins: list[int]
    layer: int
    note: int


class _ProvenanceRecord(BaseModel):
    format: int
    layers: list[str]
    notes: list[str]
    forward: list[_NodeRecord]
    training: list[_NodeRecord]
    eval: list[_NodeRecord] | None = None


def provenance_of(
    made: TrainableGraph, origins: tuple[NodeOrigin, ...], evaluation: onnx.ModelProto
) -> Provenance:
    """Combine the records of the stages.

    Args:
        made: the forward graph with its loss, before and after the rewrites.
        origins: of the nodes of the training graph, by the nodes of the rewritten one.
        evaluation: the eval graph, with its losses.
    """
    nodes = list(made.graph.graph.node)
    place = {_key(node): index for index, node in enumerate(nodes)}
    forward = _forward_pass(made.graph.graph, made.forward.training.graph)
    layers = [node.layer for node in forward]
    replaced = {one.node: one for one in made.rewrites.replacements}
    readers: dict[str, int] = {}
    """The first node that reads each value."""
    for index, node in enumerate(nodes):
        for name in node.input:
            readers.setdefault(name, index)

    def recorded(origin: NodeOrigin) -> NodeProvenance:
        rewrites = [replaced[name] for name in origin.sources if name in replaced]
        names = [
            name
            for source in origin.sources
            for name in (replaced[source].origins if source in replaced else (source,))
        ]
        found = tuple(sorted({place[name] for name in names if name in place}))
        note = "; ".join(dict.fromkeys(one.note for one in rewrites))
        made_by: MadeBy
        if origin.made_by == "update":
            reader = readers.get(origin.updated)
            layer = "" if reader is None else layers[reader]
            return NodeProvenance("update", (), layer, f"{UPDATES} {origin.updated}")
        if origin.made_by == "given":
            kept = bool(found) and not rewrites and not origin.rewrite
            made_by = forward[found[0]].made_by if kept else "rewrite"
            note = note or origin.rewrite or (forward[found[0]].note if found else "")
        else:
            made_by = origin.made_by
            if made_by == "gradient":
                note = OWN_GRADIENT if origin.own_gradient else ""
        return NodeProvenance(made_by, found, _shared([layers[i] for i in found]), note)

    evaluated = _forward_pass(evaluation.graph, made.forward.evaluation.graph)
    return Provenance(
        tuple(forward),
        tuple(map(recorded, origins)),
        tuple(node._replace(origins=()) for node in evaluated),
    )


def _forward_pass(graph: onnx.GraphProto, exported: onnx.GraphProto) -> list[NodeProvenance]:
    """The nodes of a forward pass with its losses, with their origin.

    Args:
        graph: the forward pass.
        exported: the same without losses.
    """
    given = {name for node in exported.node for name in node.output if name}
    needed = {value.name for value in exported.output}
    for node in reversed(graph.node):
        if not needed.isdisjoint(node.output):
            needed.update(name for name in node.input if name)
    found = []
    for index, node in enumerate(graph.node):
        own = given.isdisjoint(node.output)
        seeded = own and not needed.isdisjoint(node.output)
        made_by: MadeBy = "rewrite" if seeded else "loss" if own else "export"
        note = SEEDED if seeded else ""
        adapted = _metadata(node, ADAPTER)
        if adapted:
            made_by, note = "lora", f"adapter of {adapted}"
        found.append(NodeProvenance(made_by, (index,), _metadata(node, LAYER), note))
    return found


def _shared(layers: list[str]) -> str:
    """The innermost module that contains all of `layers`."""
    if not layers:
        return ""
    paths = [layer.split(".") for layer in layers]
    kept = 0
    while all(len(path) > kept and path[kept] == paths[0][kept] for path in paths):
        kept += 1
    return ".".join(paths[0][:kept])


def _metadata(node: onnx.NodeProto, key: str) -> str:
    return next((entry.value for entry in node.metadata_props if entry.key == key), "")


def _key(node: onnx.NodeProto) -> str:
    return next((str(name) for name in node.output if name), "")


def write_provenance(provenance: Provenance, folder: Path) -> None:
    """Write `provenance.json`, layers and notes once each."""
    layers: dict[str, int] = {}
    notes: dict[str, int] = {}

    def record(nodes: tuple[NodeProvenance, ...]) -> list[list[object]]:
        return [
            [
                node.made_by,
                list(node.origins),
                layers.setdefault(node.layer, len(layers)),
                notes.setdefault(node.note, len(notes)),
            ]
            for node in nodes
        ]

    graphs = {
        name: None if nodes is None else record(nodes)
        for name, nodes in provenance._asdict().items()
    }
    content = {
        "format": FORMAT_VERSION,
        "layers": list(layers),
        "notes": list(notes),
        **graphs,
    }
    text = json.dumps(content, separators=(",", ":"))
    (folder / PROVENANCE).write_text(text, encoding="utf-8")


def read_provenance(folder: Path) -> Provenance | None:
    """The provenance recorded in a folder of artifacts; None if an older workbench recorded none.

    Raises:
        ArtifactsError: the record is corrupt, or from a newer version.
    """
    path = folder / PROVENANCE
    if not is_file(path):
        return None
    try:
        content = read_json(path)
        check_record(_ProvenanceRecord, content, path)
    except RunFolderError as error:
        raise ArtifactsError(f"{error} Generate the artifacts again.") from None
    refuse_newer_format(content["format"], FORMAT_VERSION, str(path), ArtifactsError, "")
    try:
        record = _ProvenanceRecord.model_validate(content)
        return Provenance(
            _nodes(record, record.forward),
            _nodes(record, record.training),
            None if record.eval is None else _nodes(record, record.eval),
        )
    except IndexError:
        raise ArtifactsError(
            f"{path} is corrupt: a node points to a layer, a note or a node that is not there. "
            "Generate the artifacts again."
        ) from None


def _nodes(record: _ProvenanceRecord, nodes: list[_NodeRecord]) -> tuple[NodeProvenance, ...]:
    count = len(record.forward)
    found = []
    for made_by, origins, layer, note in nodes:
        if not all(0 <= origin < count for origin in origins) or layer < 0 or note < 0:
            raise IndexError
        found.append(
            NodeProvenance(made_by, tuple(origins), record.layers[layer], record.notes[note])
        )
    return tuple(found)
