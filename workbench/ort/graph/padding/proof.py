"""Determines which results of a graph padding values can change."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workbench.onnx_io.nodes import attribute
from workbench.ort.graph.padding.coordinates import Coordinates
from workbench.ort.graph.padding.graph_values import GraphValues
from workbench.ort.graph.padding.layout import (
    BATCH,
    TOKEN,
    MaskedBy,
    Tracked,
    special,
)
from workbench.ort.graph.padding.masks import Mask, is_only_mask
from workbench.ort.graph.padding.padding_step import MixedError, PaddingStep
from workbench.ort.graph.padding.rules import result

if TYPE_CHECKING:
    import onnx


class Read(NamedTuple):
    """A node that reads some tokens independently of the mask: they must be kept."""

    node: onnx.NodeProto
    value: str
    """Its input with tokens."""
    layout: Tracked
    """Layout of that input."""


class Proof(NamedTuple):
    """Proof that padding by one mask can be left out without a change of the results."""

    mask: Mask
    tracked: dict[str, Tracked]
    reads: list[Read]
    masked_by: dict[MaskedBy, Tracked]
    """Mask of the scores where the graph has no zeros for rows without any key, and its layout."""
    seeds: frozenset[str]


class Refusal(NamedTuple):
    """Why padding cannot be left out."""

    place: int
    """Index of the node at which the proof failed."""
    reason: str


class _FailedError(Exception):
    def __init__(self, place: int, reason: str, seeds: frozenset[str]) -> None:
        self.refusal, self.seeds = Refusal(place, reason), seeds


def prove(values: GraphValues, mask: Mask, *, padded_results: bool) -> Proof | Refusal:
    """Find the embeddings whose padding can be left out without a change of any result.

    Args:
        values: of the graph.
        mask: the mask of padding.
        padded_results: results may hold zeros at padded tokens.
    """
    excluded: frozenset[str] = frozenset()
    refusal = Refusal(-1, "no embedding is of the shape of the mask")
    while True:
        try:
            proof = _Attempt(values, mask, excluded).run(padded_results)
        except _FailedError as failure:
            refusal = max(refusal, failure.refusal)
            if failure.seeds <= excluded:
                return refusal
            excluded |= failure.seeds
            continue
        return proof if proof.seeds else refusal


class _Attempt:
    def __init__(self, values: GraphValues, mask: Mask, excluded: frozenset[str]) -> None:
        self._values, self._mask, self._excluded = values, mask, excluded
        self._coordinates = Coordinates(values, mask.sizes)
        self._tracked: dict[str, Tracked] = {}
        self._reads: list[Read] = []
        self._masked_by: dict[MaskedBy, Tracked] = {}
        self._seeds: set[str] = set()
        self._inputs = {value.name for value in values.graph.input}

    def run(self, padded_results: bool) -> Proof:
        mask = self._mask
        start = Tracked(((BATCH,), (TOKEN,)), constants={TOKEN: mask.padded})
        made = self._values.editor.producers.get(mask.value)
        self._tracked[mask.value] = start
        for place, node in enumerate(self._values.graph.node):
            if made is not None and _same(node, made):
                self._tracked[node.output[0]] = start
            elif self._is_seed(node):
                self._seed(node.output[0])
            else:
                self._coordinates.visit(node)
                self._visit(place, node)
        for output in self._values.graph.output:
            found = self._tracked.get(output.name)
            if found is not None and found.arbitrary:
                lead = found.lead is not None and found.arbitrary == {TOKEN}
                if not padded_results or not lead:
                    what = f"the result {output.name!r} has values at padded tokens"
                    raise _FailedError(len(self._values.graph.node), what, found.seeds)
        self._check_order()
        return Proof(mask, self._tracked, self._reads, self._masked_by, frozenset(self._seeds))

    def _visit(self, place: int, node: onnx.NodeProto) -> None:
        inputs = [self._tracked[name] for name in node.input if name in self._tracked]
        if not inputs or node.op_type in ("Shape", "Size"):
            return
        arbitrary = [each for each in inputs if each.arbitrary]
        seeds = frozenset[str]().union(*(each.seeds for each in arbitrary))
        try:
            found = self._results(node)
        except MixedError:
            if arbitrary and not self._read(node):
                raise _FailedError(place, _mixes(node), seeds) from None
            self._note_masks(place, node, [], seeds)
            return
        if node.op_type == "Softmax":
            found = [self._with_known_mask(node, found[0])]
        self._note_masks(place, node, found, seeds)
        for name, each in zip(node.output, found, strict=True):
            if name and each is not None:
                self._tracked[name] = each

    def _results(self, node: onnx.NodeProto) -> list[Tracked | None]:
        if node.op_type == "GatherND":
            made = self._coordinates.gathered(node, self._tracked)
            if made is None:
                raise MixedError
            return [made]
        if node.op_type == "Where" and self._picks_tokens(node):
            raise MixedError
        return result(PaddingStep(node, self._values, self._tracked, self._mask.sizes))

    def _is_seed(self, node: onnx.NodeProto) -> bool:
        """Whether it is an embedding, or a linear layer of an argument, of each token."""
        if node.output[0] in self._excluded or node.op_type not in ("Gather", "MatMul"):
            return False
        table, tokens = node.input if node.op_type == "Gather" else reversed(node.input)
        shape, matrix = self._values.shape(tokens), self._values.shape(table)
        made = self._values.shape(node.output[0])
        if shape is None or matrix is None or len(matrix) != 2 or made is None:
            return False
        found = self._tracked.get(tokens)
        # A table may also be a sequence of tokens, of which each token reads some.
        if self._is_arbitrary(tokens) or self._is_arbitrary(table):
            return False
        own = isinstance(made[-1], int) and shape[:2] == tuple(self._mask.sizes)
        if node.op_type == "Gather":
            return own and len(shape) == 2 and attribute(node, "axis", 0) == 0
        # A product of the mask and tokens does not depend on padding, but does not count.
        masked = found is not None and found.lead == ("bt", 2)
        return own and len(shape) == 3 and (tokens in self._inputs or masked)

    def _seed(self, name: str) -> None:
        shape = self._values.shape(name)
        assert shape is not None
        assert isinstance(shape[2], int)
        axes = ((BATCH,), (TOKEN,), (shape[2],) if shape[2] > 1 else ())
        self._tracked[name] = Tracked(axes, frozenset({TOKEN}), seeds=frozenset({name}))
        self._seeds.add(name)

    def _picks_tokens(self, node: onnx.NodeProto) -> bool:
        """Whether a condition independent of the mask selects single numbers of some tokens."""
        condition, *rest = (self._tracked.get(name) for name in node.input)
        arbitrary = [each for each in rest if each is not None and each.arbitrary]
        if condition is not None or len(arbitrary) != 1 or arbitrary[0].lead is None:
            return False
        shape = self._values.shape(node.output[0])
        alone = all(not axis or special(axis) for axis in arbitrary[0].axes)
        same = shape is not None and shape == self._values.shape(node.input[0])
        return (
            alone
            and same
            and arbitrary[0].lead[0] == "bt"
            and len(arbitrary[0].axes) == len(shape or ())
        )

    def _read(self, node: onnx.NodeProto) -> bool:
        """Record a node that selects tokens independently of padding; False for all others."""
        arbitrary = [name for name in node.input if self._is_arbitrary(name)]
        if len(arbitrary) != 1 or self._tracked[arbitrary[0]].arbitrary != {TOKEN}:
            return False
        layout = self._tracked[arbitrary[0]]
        if layout.lead is None:
            return False
        if node.op_type != "Where":
            picked = self._picked_axes(node, len(layout.axes))
            if node.input[0] != arbitrary[0] or not picked:
                return False
            if not all(special(layout.axes[axis]) for axis in picked):
                return False
        elif not self._picks_tokens(node):
            return False
        self._reads.append(Read(node, arbitrary[0], layout))
        return True

    def _picked_axes(self, node: onnx.NodeProto, rank: int) -> list[int]:
        """The axes along which a node selects a part; empty for other operators."""
        if node.op_type == "Gather":
            return [attribute(node, "axis", 0) % rank]
        if node.op_type == "Slice" and len(node.input) > 3:
            return [axis % rank for axis in self._values.integers(node.input[3]) or []]
        if node.op_type == "GatherND" and not attribute(node, "batch_dims", 0):
            depth = (self._values.shape(node.input[1]) or (None,))[-1]
            return list(range(depth)) if isinstance(depth, int) else []
        return []

    def _with_known_mask(self, node: onnx.NodeProto, made: Tracked | None) -> Tracked | None:
        """The result of a Softmax; its mask is unknown if it is one of several."""
        masked_by = made.masked_by if made is not None else None
        if made is None or masked_by is None:
            return made
        if is_only_mask(node.input[0], masked_by, self._values):
            return made
        return made._replace(masked_by=masked_by._replace(value=""))

    def _note_masks(
        self, place: int, node: onnx.NodeProto, made: list[Tracked | None], seeds: frozenset[str]
    ) -> None:
        """Record masks whose rows without any key have to be found.

        That is where weights are used, unless a Where has put zeros in such rows.
        """
        passed_on = {each.masked_by for each in made if each is not None}
        for name in node.input:
            found = self._tracked.get(name)
            masked_by = found.masked_by if found is not None else None
            zeros = node.op_type == "Where" and bool(made) and not passed_on
            if found is None or masked_by is None or masked_by in passed_on or zeros:
                continue
            seeds |= found.seeds
            layout = self._tracked.get(masked_by.value)
            batch = layout is not None and layout.axes[0] == (BATCH,)
            if layout is None or layout.arbitrary or not batch or len(layout.axes) not in (2, 3, 4):
                raise _FailedError(place, f"its mask is not recognized: {_mixes(node)}", seeds)
            if len(layout.axes) == 4 and special(layout.axes[1]):
                raise _FailedError(place, f"its mask is not recognized: {_mixes(node)}", seeds)
            self._masked_by[masked_by] = layout

    def _is_arbitrary(self, name: str) -> bool:
        return name in self._tracked and bool(self._tracked[name].arbitrary)

    def _check_order(self) -> None:
        """Check that the choice of kept tokens does not depend on values computed from them."""
        pending = [name for each in self._reads for name in each.node.input if name != each.value]
        pending += [each.value for each in self._masked_by]
        visited = set[str]()
        while pending:
            name = pending.pop()
            if name in self._seeds:
                reason = "the choice of tokens depends on values computed from the tokens"
                raise _FailedError(len(self._values.graph.node), reason, frozenset(self._seeds))
            made = self._values.editor.producers.get(name)
            if made is not None and name not in visited:
                visited.add(name)
                pending += made.input


def _same(node: onnx.NodeProto, other: onnx.NodeProto) -> bool:
    return node.op_type == other.op_type and list(node.input) == list(other.input)


def _mixes(node: onnx.NodeProto) -> str:
    return f"{node.op_type} ({node.name}) works on more than one token, or on padding, at once"
