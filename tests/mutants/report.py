"""The report of tried and surviving mutants: results.json, and docs/mutants.md made of it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutants.areas import AREAS, ROOT

RESULTS = Path(__file__).with_name("results.json")
REASONS = Path(__file__).with_name("reasons.toml")
DOCUMENT = ROOT / "docs" / "mutants.md"

HEAD = """# Mutation testing

Made by `make mutants`: one small fault (mutant) at a time is put into the parts of the package that
measure and record, by the operators of cosmic-ray and one that deletes a statement. Of the tests of
that part those that execute its line are run, the shortest first and for a limited time, worker
processes included. A mutant is killed when a test fails or does not end, and does so again when it
is run once more alone.

`make mutants` tries every mutant; `make mutants MODULES="worker compare" SAMPLE=40 SEED=1` forty of
each part, chosen by the seed; `make mutants AGAIN=1` only the survivors that are listed below, with
all tests of their line, and `TESTS="tests/worker/test_loop.py"` only with the tests of these files.

"Killed at first" counts a new sample with the existing tests; tests were then written for the
survivors, and "killed now" includes them. The newest sample's "killed at first" is the estimate for
the mutants of that part that were not tried.

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


class Sample(NamedTuple):
    """Results for the mutants that one seed chose."""

    seed: int
    tried: int
    first: int | None
    """How many were found by the tests as they were before any was mended; None: not recorded."""
    survivors: list[Survivor]
    day: str = ""
    """On which it was tried, as 2026-11-23; empty where that was not recorded."""
    few_tests: bool = False
    """Whether only some of the tests of the area were run: all of them find as many or more."""

    @property
    def found(self) -> int:
        return self.tried - len(self.survivors)


class AreaResult(NamedTuple):
    """Results of one area."""

    mutants: int
    """All that there are."""
    samples: list[Sample]
    """In the order in which they were tried; a fault may be in several."""

    @property
    def tried(self) -> int:
        return sum(sample.tried for sample in self.samples)

    @property
    def found(self) -> int:
        return sum(sample.found for sample in self.samples)

    @property
    def newest(self) -> Sample | None:
        """The last sample of which it is recorded what was found at first."""
        return next((s for s in reversed(self.samples) if s.first is not None), None)

    @property
    def survivors(self) -> list[Survivor]:
        return sorted({survivor for sample in self.samples for survivor in sample.survivors})

    def with_sample(self, mutants: int, new: Sample) -> AreaResult:
        """With a sample more, in place of that of its seed; of all alone if it holds all."""
        others = [] if new.tried == mutants else self.samples
        return AreaResult(mutants, [*(s for s in others if s.seed != new.seed), new])

    def with_survivors(self, survivors: list[Survivor]) -> AreaResult:
        """With only those of its survivors that are among these."""
        left = {(survivor.file, survivor.change): survivor for survivor in survivors}
        samples = []
        for sample in self.samples:
            known = [(survivor.file, survivor.change) for survivor in sample.survivors]
            samples.append(sample._replace(survivors=[left[k] for k in known if k in left]))
        return self._replace(samples=samples)


def read_results() -> dict[str, AreaResult]:
    """By area, in the order of `AREAS`."""
    if not RESULTS.exists():
        return {}
    record: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return {
        area: AreaResult(found["mutants"], [_sample(sample) for sample in found["samples"]])
        for area, found in record.items()
    }


def _sample(record: dict[str, Any]) -> Sample:
    return Sample(**{**record, "survivors": [Survivor(**s) for s in record["survivors"]]})


def write_results(new: dict[str, AreaResult]) -> None:
    """Replace the results of the areas in `new`, keep the others, and write the document."""
    merged = read_results() | new
    results = {area: merged[area] for area in AREAS if area in merged}
    record = {
        area: {
            "mutants": found.mutants,
            "samples": [
                {**sample._asdict(), "survivors": [s._asdict() for s in sample.survivors]}
                for sample in found.samples
            ],
        }
        for area, found in results.items()
    }
    RESULTS.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    DOCUMENT.write_text(document(results), encoding="utf-8")


def document(results: dict[str, AreaResult]) -> str:
    """The results as Markdown."""
    lines = [
        "| part | mutants | seed | tried | killed at first | killed now |",
        "|---|---|---|---|---|---|",
    ]
    samples = [sample for found in results.values() for sample in found.samples]
    for area, found in results.items():
        for sample in found.samples:
            first = "not recorded" if sample.first is None else _share(sample.first, sample.tried)
            now = _share(sample.found, sample.tried)
            row = (area, found.mutants, sample.seed, sample.tried, first, now)
            lines.append(f"| {' | '.join(map(str, row))} |")
    recorded = [(s.first, s.tried) for s in samples if s.first is not None]
    at_first, of = (sum(numbers) for numbers in zip(*recorded, strict=True)) if recorded else (0, 0)
    tried = sum(sample.tried for sample in samples)
    first = f"{_share(at_first, of)} of {of}" if recorded else "not recorded"
    now = _share(sum(sample.found for sample in samples), tried)
    lines.append(f"| **all** | | | {tried} | {first} | {now} |")
    lines += ["", "## Mutants not tried", ""]
    lines += [
        "| part | not tried | newest sample | killed at first | when |",
        "|---|---|---|---|---|",
    ]
    lines += [_estimate(area, found) for area, found in results.items()]
    missing = [area for area in AREAS if area not in results]
    if missing:
        lines += ["", f"Not tried yet, and not in the sum: {', '.join(missing)}."]
    lines += ["", "## Survivors", ""]
    for found in results.values():
        for survivor in found.survivors:
            lines.append(f"- `{survivor.file}`, line {survivor.line}: `{survivor.change}`")
            lines.append(f"  {survivor.reason or '**No reason is known: a test is missing.**'}")
    return HEAD + "\n".join(lines) + "\n"


def _estimate(area: str, found: AreaResult) -> str:
    """The expected number of survivors among the mutants of an area that were not tried."""
    newest = found.newest
    left = max(0, found.mutants - found.tried)
    if not left or newest is None or newest.first is None:
        return f"| {area} | {left} | {'not recorded' if left else '–'} | | |"  # noqa: RUF001
    least = " or more, by some of the tests" if newest.few_tests else ""
    first = f"{newest.first} of {newest.tried}{least}"
    share = f"{100 * newest.first / max(1, newest.tried):.0f} %"
    return f"| {area} | {left} | {first} | {share} | {newest.day or 'not recorded'} |"


def _share(found: int, tried: int) -> str:
    return f"{found}, {100 * found / max(1, tried):.0f} %"
