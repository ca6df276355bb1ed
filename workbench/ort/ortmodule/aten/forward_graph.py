"""What a fusion must know of a forward pass, and how it changes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from workbench.ort.ortmodule.aten.graph import Graph
from workbench.trainable.own_gradient import NodeGradient

if TYPE_CHECKING:
    import onnx

_NEEDLESS = frozenset({"Expand", "Identity", "Reshape", "Transpose", "Where"})
"""Operators whose nodes go where nothing reads them any more."""


class ForwardGraph(Graph):
    """A forward pass, several of whose nodes at a time become calls of PyTorch's kernels."""

    def __init__(self, proto: onnx.GraphProto, requires_grad: Iterable[str]) -> None:
        """
        Args:
            proto: in topological order; its nodes are changed by `finish`.
            requires_grad: inputs whose gradients are wanted.
        """
        super().__init__(proto)
        self.gradients: list[NodeGradient] = []
        """Of the nodes that were made."""
        self.nodes = list(proto.node)
        """Those that were there at first, in their order; each is known by its identity."""
        self._carrying = set(requires_grad)
        self._readers: dict[str, list[onnx.NodeProto]] = {}
        for node in self.nodes:
            for name in node.input:
                self._readers.setdefault(name, []).append(node)
            if not self._carrying.isdisjoint(node.input):
                self._carrying.update(filter(self._may_be_float, node.output))
        self._made: dict[int, list[onnx.NodeProto]] = {}
        self._gone: set[int] = set()
        self._domains: set[str] = set()

    def carries(self, name: str) -> bool:
        """Whether the gradient of a value may be wanted."""
        return name in self._carrying

    def producer(self, name: str, *ops: str) -> onnx.NodeProto | None:
        """The node that gives a value, if it is one of `ops`."""
        node = self.producers.get(name)
        return node if node is not None and self._is(node, ops) else None

    def alone(self, name: str, *ops: str) -> onnx.NodeProto | None:
        """The node that gives a value which is read once, if it is one of `ops`."""
        return self.producer(name, *ops) if self.uses[name] == 1 else None

    def reader(self, name: str, *ops: str) -> onnx.NodeProto | None:
        """The node that reads a value which is read once, if it is one of `ops`."""
        readers = self.readers(name)
        if self.uses[name] != 1 or len(readers) != 1:
            return None
        return readers[0] if self._is(readers[0], ops) else None

    def readers(self, name: str) -> list[onnx.NodeProto]:
        """The nodes that read a value, those that are gone included."""
        return self._readers.get(name, [])

    def scalar(self, name: str) -> float | None:
        """The value of a constant of one element."""
        found = self.constant(name)
        return float(found.item()) if found is not None and found.size == 1 else None

    def fuse(
        self,
        nodes: Sequence[onnx.NodeProto],
        made: list[onnx.NodeProto],
        gradient: NodeGradient | None = None,
        *,
        at: onnx.NodeProto | None = None,
    ) -> None:
        """Put `made` in the place of `nodes`, and give what they gave to others.

        Args:
            nodes: nothing else reads what goes from one to the next.
            made: what they become.
            gradient: of the one among `made` whose name it says, unless ONNX Runtime has it.
            at: the one of `nodes` in whose place they come; the last by default.
        """
        for node in made:
            self.uses.update(filter(None, node.input))
            self.producers.update(dict.fromkeys(filter(None, node.output), node))
            for name in filter(None, node.input):
                self._readers.setdefault(name, []).append(node)
            self._domains.add(node.domain)
        self._gone.update(id(node) for node in nodes)
        for node in nodes:
            self._read_less(node)
        place = id(at or nodes[-1])
        self._made[place] = made
        if gradient is not None:
            self.gradients.append(gradient)

    def finish(self, model: onnx.ModelProto) -> None:
        """Bring the nodes of `model`, whose graph this is, up to date."""
        nodes: list[onnx.NodeProto] = []
        waiting = self.nodes[::-1]
        while waiting:
            node = waiting.pop()
            if id(node) not in self._gone:
                nodes.append(node)
            waiting += reversed(self._made.get(id(node), []))
        del self.proto.node[:]
        self.proto.node.extend(nodes)
        known = {entry.domain for entry in model.opset_import}
        for domain in sorted(self._domains - known - {""}):
            model.opset_import.add(domain=domain, version=1)
        # ONNX Runtime warns of each that nothing reads.
        kept = [tensor for tensor in self.proto.initializer if self.uses[tensor.name]]
        del self.proto.initializer[:]
        self.proto.initializer.extend(kept)

    def _may_be_float(self, name: str) -> bool:
        """Whether a value exists and is of no type that has no gradient, as truth values are."""
        return bool(name) and (name not in self._values or self.is_float(name))

    def _read_less(self, node: onnx.NodeProto) -> None:
        """One reader of what `node` reads is gone, and so is what nothing else needs."""
        for name in filter(None, node.input):
            self.uses[name] -= 1
            before = self.producer(name, *_NEEDLESS)
            if before is not None and not self.uses[name]:
                self._gone.add(id(before))
                self._read_less(before)

    def _is(self, node: onnx.NodeProto, ops: Sequence[str]) -> bool:
        return node.op_type in ops and not node.domain and id(node) not in self._gone
