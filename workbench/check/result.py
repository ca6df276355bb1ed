"""The result of `wb.check`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.trainable import NodeFinding, State

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class CheckedOp:
    """The nodes of one operator in the same state."""

    op: str
    state: State
    note: str
    """How it is rewritten, or why it cannot be trained."""
    remedy: str
    """Suggested fix if it cannot be trained."""
    count: int
    """Number of nodes."""
    layers: str
    """Comma-separated names of the layers that cannot be trained, if they are known."""

    @property
    def details(self) -> str:
        """Note, layers and remedy as sentences."""
        where = f"In {self.layers}." if self.layers else ""
        return " ".join(part for part in (self.note, where, self.remedy) if part)


class Check(NamedTuple):
    """The result of `wb.check`, one row per operator and state."""

    model: str
    ops: tuple[CheckedOp, ...]
    trainable_count: int = 0
    """Number of elements of the parameters that would be trained."""
    frozen_count: int = 0
    """Number of elements of the other parameters."""
    findings: tuple[NodeFinding, ...] = ()
    """One per node, in the order of the graph."""

    @classmethod
    def of_findings(
        cls, model: str, findings: Sequence[NodeFinding], *, trainable: int, frozen: int
    ) -> Check:
        """Group the findings of `model`.

        Args:
            model: its name.
            findings: one per node, in the order of the graph.
            trainable: number of elements of the parameters that would be trained.
            frozen: of the others.
        """
        return cls(model, _rows(findings), trainable, frozen, tuple(findings))

    def by_layer(self) -> dict[str, tuple[NodeFinding, ...]]:
        """The nodes that are rewritten or cannot be trained, by the layer that they came from.

        A node without one, as of an .onnx file, is its own layer.
        """
        layers: dict[str, tuple[NodeFinding, ...]] = {}
        for found in self.findings:
            if found.state in ("rewritten", "cannot"):
                layer = found.layer or found.node
                layers[layer] = (*layers.get(layer, ()), found)
        return layers

    @property
    def ok(self) -> bool:
        """Whether the model can be trained."""
        return all(row.state != "cannot" for row in self.ops)

    @property
    def frame(self) -> pd.DataFrame:
        """Columns op, count, state, note, remedy, layers, in the order of the graph."""
        import pandas as pd

        columns = ["op", "count", "state", "note", "remedy", "layers"]
        return pd.DataFrame([asdict(row) for row in self.ops], columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """The result in JSON types."""
        rows = [asdict(row) for row in self.ops]
        return {
            "model": self.model,
            "ok": self.ok,
            "trainable_count": self.trainable_count,
            "frozen_count": self.frozen_count,
            "ops": rows,
        }

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        if self.ok:
            rewritten = sum(row.count for row in self.ops if row.state == "rewritten")
            count = f"{rewritten} node{' is' if rewritten == 1 else 's are'} rewritten"
            suffix = f"; {count}" if rewritten else ""
            return f"{self.model} can be trained with ONNX Runtime{suffix}."
        return f"{self.model} cannot be trained with ONNX Runtime."

    @property
    def counts(self) -> str:
        """How many of the parameters' elements are trained, in one sentence."""
        total = self.trainable_count + self.frozen_count
        return f"Trainable parameters: {self.trainable_count:,} of {total:,} elements."

    def __str__(self) -> str:
        width = max((len(row.op) for row in self.ops), default=0)
        lines = [f"{self.verdict} {self.counts}"]
        for row in self.ops:
            text = f"  {row.op:<{width}}  {row.count:>4}  {row.state}"
            lines.append(f"{text}: {row.details}" if row.details else text)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        import pandas as pd

        # Without this option pandas truncates long cells.
        with pd.option_context("display.max_colwidth", None):
            table: str = self.frame.to_html(index=False, border=0, justify="left")
        return f"<p>{escape(f'{self.verdict} {self.counts}')}</p>{table}"


def _rows(findings: Sequence[NodeFinding]) -> tuple[CheckedOp, ...]:
    kinds: dict[tuple[str, State, str, str], list[NodeFinding]] = {}
    for found in findings:
        kinds.setdefault((found.op, found.state, found.note, found.remedy), []).append(found)
    return tuple(
        CheckedOp(*kind, count=len(group), layers=_layers(group)) for kind, group in kinds.items()
    )


def _layers(group: Sequence[NodeFinding]) -> str:
    named = dict.fromkeys(found.layer for found in group if found.state == "cannot" and found.layer)
    return ", ".join(named)
