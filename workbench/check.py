"""`wb.check`: what of a model trains with ONNX Runtime, what is rewritten, what cannot, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.artifacts.forward import first_output_only, forward_graphs
from workbench.artifacts.parameters import choose_parameters
from workbench.models import Model
from workbench.trainable import Finding, State, find

if TYPE_CHECKING:
    import onnx
    import pandas as pd


@dataclass(frozen=True, slots=True)
class CheckedOp:
    """One kind of operator and its fate."""

    op: str
    state: State
    note: str
    """How it is rewritten, or why it cannot be trained through."""
    remedy: str
    """What to do about one that cannot."""
    count: int
    """Nodes of this kind with this fate."""
    layers: str
    """Names of the layers of those that cannot, where the graph tells, separated by commas."""


class Check(NamedTuple):
    """The result of `wb.check`, one row for each kind of operator and fate."""

    model: str
    ops: tuple[CheckedOp, ...]

    @property
    def ok(self) -> bool:
        """Whether the model trains."""
        return all(row.state != "cannot" for row in self.ops)

    @property
    def frame(self) -> pd.DataFrame:
        """Columns op, count, state, note, remedy, layers, in the order of the graph."""
        import pandas as pd

        columns = ["op", "count", "state", "note", "remedy", "layers"]
        return pd.DataFrame([asdict(row) for row in self.ops], columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        rows = [asdict(row) for row in self.ops]
        return {"model": self.model, "ok": self.ok, "ops": rows}

    def __str__(self) -> str:
        verdict = "trains" if self.ok else "cannot be trained"
        width = max((len(row.op) for row in self.ops), default=0)
        lines = [f"{self.model} {verdict} with ONNX Runtime."]
        for row in self.ops:
            text = f"  {row.op:<{width}}  {row.count:>4}  {row.state}"
            where = f"In {row.layers}." if row.layers else ""
            details = " ".join(part for part in (row.note, where, row.remedy) if part)
            lines.append(f"{text}: {details}" if details else text)
        return "\n".join(lines)


def check(model: Model | onnx.ModelProto, *, requires_grad: Sequence[str] | None = None) -> Check:
    """Say of each operator whether ONNX Runtime trains through it; trains nothing.

    The model is exported where it is not a graph already, and nothing native is run on it, so that
    what would crash the process is told, not tried.

    Args:
        model: from `load_model`, or a forward graph whose initializers of rank 1 and more train.
        requires_grad: names or patterns of the parameters to train; None: all. What lies before
            every one of them needs no gradient.

    Raises:
        ModelError: it cannot be exported.
        ConfigError: a pattern matches no parameter.
    """
    patterns = None if requires_grad is None else tuple(requires_grad)
    if isinstance(model, Model):
        forward = forward_graphs(model, _ignore)
        graph = first_output_only(forward.training)
        names = choose_parameters(forward, graph, patterns).trainable
        return Check(model.name, _rows(graph, names))
    graph = first_output_only(model)
    names = [value.name for value in graph.graph.initializer if value.dims]
    return Check(model.graph.name, _rows(graph, names))


def _rows(graph: onnx.ModelProto, names: Sequence[str]) -> tuple[CheckedOp, ...]:
    kinds: dict[tuple[str, State, str, str], list[Finding]] = {}
    for found in find(graph, names):
        kinds.setdefault((found.op, found.state, found.note, found.remedy), []).append(found)
    return tuple(
        CheckedOp(*kind, count=len(group), layers=_layers(group)) for kind, group in kinds.items()
    )


def _layers(group: Sequence[Finding]) -> str:
    named = dict.fromkeys(found.layer for found in group if found.state == "cannot" and found.layer)
    return ", ".join(named)


def _ignore(_: str) -> None:
    """Nobody watches."""
