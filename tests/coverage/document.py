"""The table of what trains, as the document that is made from the tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.coverage.case import Case
from tests.coverage.measure import ENGINES, TOLERANCE, Found, answer, complaint
from tests.coverage.table import GROUPS

DOCUMENT = Path(__file__).parents[2] / "docs" / "what-trains.md"

PACKAGES = ("onnxruntime-training-cpu", "torch", "onnx")

HEAD = """# What trains

Every line is a test: a small module with parameters before the layer and after it, trained for two
steps of different batch sizes by PyTorch and by each of the two engines of ONNX Runtime, from one
export and one rewriting. The outputs, the loss and the gradient of every parameter are compared;
the largest difference, relative to the largest number of PyTorch's, may be {tolerance}. The error
shown is the largest over shapes, steps and engines, rounded up to a power of ten.

{passing} of {count} lines train on `ondevice`, {passing_ortmodule} on `ortmodule`. Measured with
{versions}; `make docs` runs them all again and writes this file.
That holds with several threads too: [threads.md](threads.md).
"""


def write(found: Found) -> str:
    """The document for what the probe found, every case of the table included."""
    cases = [case for group in GROUPS.values() for case in group]
    passing = {
        engine: sum(_trains(case, engine, found[case.name]) for case in cases) for engine in ENGINES
    }
    parts = [
        HEAD.format(
            tolerance=_rounded_up(TOLERANCE),
            versions=", ".join(f"{name} {version(name).split('+')[0]}" for name in PACKAGES),
            passing=passing["ondevice"],
            passing_ortmodule=passing["ortmodule"],
            count=len(cases),
        )
    ]
    for group, members in GROUPS.items():
        parts.append(f"## {group}\n")
        parts.append("| layer | ondevice | ortmodule | error | rewritten |\n|---|---|---|---|---|")
        parts[-1] += "".join(f"\n{_row(case, found[case.name])}" for case in members) + "\n"
    return "\n".join(parts)


def listed(text: str) -> dict[str, list[str]]:
    """The cases that a document lists, by group."""
    found: dict[str, list[str]] = {}
    group = ""
    for line in text.splitlines():
        if line.startswith("## "):
            group = line.removeprefix("## ")
            found[group] = []
        elif group and line.startswith("| ") and not line.startswith("| layer "):
            found[group].append(_unescaped(line.split(" | ")[0].removeprefix("| ")))
    return found


def _row(case: Case, results: Sequence[Any]) -> str:
    states = [_state(case, engine, results) for engine in ENGINES]
    errors = [answer(results, engine).difference for engine in ENGINES]
    finite = [error for error in errors if math.isfinite(error)]
    cells = [case.name, *states, _rounded_up(max(finite)) if finite else "", _rewritten(results)]
    return f"| {' | '.join(map(_escaped, cells))} |"


def _trains(case: Case, engine: str, results: Sequence[Any]) -> bool:
    return engine not in case.refusals and not complaint(case, engine, results)


def _state(case: Case, engine: str, results: Sequence[Any]) -> str:
    if _trains(case, engine, results):
        return "trains"
    if engine in case.refusals:
        return f"refused: {case.refusals[engine]}"
    return "**fails**"


def _rounded_up(error: float) -> str:
    return "0" if error == 0 else f"1e{math.ceil(math.log10(error))}"


def _rewritten(results: Sequence[Any]) -> str:
    notes = [
        note
        for result in results
        if not isinstance(result, str) and not isinstance(result["rewritten"], str)
        for note in result["rewritten"]
    ]
    return "; ".join(dict.fromkeys(notes))


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def _unescaped(cell: str) -> str:
    return cell.replace("\\|", "|")
