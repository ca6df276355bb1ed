"""`wb.check`: what of a model trains with ONNX Runtime, what is rewritten, what cannot, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from workbench.artifacts.forward import first_output_only, forward_graphs
from workbench.artifacts.parameters import choose_parameters
from workbench.errors import ModelError
from workbench.export.export import EXPORTERS
from workbench.files.temporary_folder import temporary_folder
from workbench.models import Model, load_model
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

    @property
    def details(self) -> str:
        """Note, layers and remedy in a row of sentences."""
        where = f"In {self.layers}." if self.layers else ""
        return " ".join(part for part in (self.note, where, self.remedy) if part)


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

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        if self.ok:
            rewritten = sum(row.count for row in self.ops if row.state == "rewritten")
            count = f"{rewritten} node{' is' if rewritten == 1 else 's are'} rewritten"
            return f"{self.model} trains with ONNX Runtime{f'; {count}' if rewritten else ''}."
        return f"{self.model} cannot be trained with ONNX Runtime."

    def __str__(self) -> str:
        width = max((len(row.op) for row in self.ops), default=0)
        lines = [self.verdict]
        for row in self.ops:
            text = f"  {row.op:<{width}}  {row.count:>4}  {row.state}"
            lines.append(f"{text}: {row.details}" if row.details else text)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        import pandas as pd

        # A cell says all there is to say; pandas would cut it.
        with pd.option_context("display.max_colwidth", None):
            table: str = self.frame.to_html(index=False, border=0, justify="left")
        return f"<p>{escape(self.verdict)}</p>{table}"


def check(
    model: Model | str | Path | onnx.ModelProto, *, requires_grad: Sequence[str] | None = None
) -> Check:
    """Say of each operator whether ONNX Runtime trains through it; trains nothing.

    The model is exported where it is not a graph already, and nothing native is run on it, so that
    what would crash the process is told, not tried.

    Args:
        model: a `Model`, what `load_model` takes, or a forward graph whose initializers of rank 1
            and more train.
        requires_grad: names or patterns of the parameters to train; None: all. What lies before
            every one of them needs no gradient.

    Raises:
        ModelError: it cannot be loaded or exported.
        ConfigError: a pattern matches no parameter.
    """
    patterns = None if requires_grad is None else tuple(requires_grad)
    if not _is_graph(model):
        loaded = model if isinstance(model, Model) else load_model(model)
        return _check_model(loaded, patterns)
    graph = first_output_only(model)
    names = [value.name for value in graph.graph.initializer if value.dims]
    return Check(model.graph.name, _rows(graph, names))


def _is_graph(model: object) -> TypeGuard[onnx.ModelProto]:
    # A graph can only exist where onnx is loaded already.
    loaded = sys.modules.get("onnx")
    return loaded is not None and isinstance(model, loaded.ModelProto)


def _check_model(model: Model, patterns: tuple[str, ...] | None) -> Check:
    """The check of the first exporter's graph, or of another's where only that trains."""

    def of(exporters: tuple[str, ...]) -> Check:
        with temporary_folder() as folder:
            forward = forward_graphs(model, _ignore, exporters, folder)
            graph = first_output_only(forward.training)
            names = choose_parameters(forward, graph, patterns).trainable
            return Check(model.name, _rows(graph, names))

    first, *others = EXPORTERS
    found = of((first, *others))
    if found.ok or not model.has_module:
        return found
    try:
        other = of(tuple(others))
    except ModelError:
        return found
    return other if other.ok else found


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
