"""What was tried and what went unnoticed: results.json, and docs/mutants.md made of it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutants.areas import AREAS, ROOT

RESULTS = Path(__file__).with_name("results.json")
REASONS = Path(__file__).with_name("reasons.toml")
DOCUMENT = ROOT / "docs" / "mutants.md"

HEAD = """# Faults that the tests notice

Made by `make mutants`: one small fault at a time is put into the parts of the package that measure
and record, by the operators of cosmic-ray and one that leaves a statement out. Of the tests beside
that part those that execute its line are run, the shortest first, worker processes included. A
fault is found when a test fails or does not end.

`make mutants` tries every fault; `make mutants MODULES="worker compare" SAMPLE=40 SEED=1` forty of
each part, chosen by the seed; `make mutants AGAIN=1` only those that are listed below.

"""


class Survivor(NamedTuple):
    """A fault that no test noticed."""

    file: str
    line: int
    change: str

    @property
    def reason(self) -> str:
        """Why no test notices it, as reasons.toml says; empty where it says nothing."""
        known: dict[str, dict[str, str]] = tomllib.loads(REASONS.read_text(encoding="utf-8"))
        return known.get(self.file, {}).get(self.change, "")


class AreaResult(NamedTuple):
    """What came of one area."""

    mutants: int
    """All that there are."""
    tried: int
    seed: int
    survivors: list[Survivor]

    @property
    def found(self) -> int:
        return self.tried - len(self.survivors)


def read_results() -> dict[str, AreaResult]:
    """By area, in the order of `AREAS`."""
    if not RESULTS.exists():
        return {}
    record: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return {
        area: AreaResult(**{**found, "survivors": [Survivor(**s) for s in found["survivors"]]})
        for area, found in record.items()
    }


def write_results(new: dict[str, AreaResult]) -> None:
    """Replace the results of the areas in `new`, keep the others, and write the document."""
    merged = read_results() | new
    results = {area: merged[area] for area in AREAS if area in merged}
    record = {
        area: {**found._asdict(), "survivors": [s._asdict() for s in found.survivors]}
        for area, found in results.items()
    }
    RESULTS.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    DOCUMENT.write_text(document(results), encoding="utf-8")


def document(results: dict[str, AreaResult]) -> str:
    """The results as Markdown."""
    lines = ["| part | faults | tried | found | |", "|---|---|---|---|---|"]
    for area, found in results.items():
        share = f"{100 * found.found / max(1, found.tried):.0f} %"
        lines.append(f"| {area} | {found.mutants} | {found.tried} | {found.found} | {share} |")
    tried = sum(found.tried for found in results.values())
    noticed = sum(found.found for found in results.values())
    lines.append(f"| **all** | | {tried} | {noticed} | {100 * noticed / max(1, tried):.0f} % |")
    missing = [area for area in AREAS if area not in results]
    if missing:
        lines += ["", f"Not tried yet, and not in the sum: {', '.join(missing)}."]
    lines += ["", "## Not found", ""]
    for found in results.values():
        for survivor in found.survivors:
            lines.append(f"- `{survivor.file}`, line {survivor.line}: `{survivor.change}`")
            lines.append(f"  {survivor.reason or '**No reason is known: a test is missing.**'}")
    return HEAD + "\n".join(lines) + "\n"
