"""`python -m tests.mutants [AREA ...] [--sample N] [--seed N]`: put faults in, see tests fail.

Exit status 1 where fewer than nine of ten are found, or a survivor has no reason.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import math
import random
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.areas import AREAS, ROOT
from tests.mutants.mutations import Mutation, mutations_of
from tests.mutants.report import (
    DOCUMENT,
    AreaResult,
    Sample,
    Survivor,
    read_results,
    write_results,
)
from tests.mutants.selection import Lines
from tests.mutants.trial import Tree

AIM = 0.9
"""Share of the faults that the tests are to notice."""
MOST_S = 60.0
"""How long the tests of one fault take together: what these do not notice counts as not found."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("areas", nargs="*", choices=[*AREAS, []], help=f"of {', '.join(AREAS)}")
    parser.add_argument("--sample", type=int, help="faults of each area; without it all")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of the sample")
    parser.add_argument("--minutes", type=float, help="for each area; without it all that it takes")
    parser.add_argument(
        "--again", action="store_true", help="only the faults of the results that none noticed"
    )
    parser.add_argument("--tests", nargs="+", help="files, of those of the area; without it all")
    arguments = parser.parse_args()
    before = read_results()
    areas = arguments.areas or [*AREAS]
    if arguments.again and (new := [area for area in areas if area not in before]):
        print(f"Not tried before, so there is nothing to try again: {', '.join(new)}")
        areas = [area for area in areas if area in before]
        if not areas:
            return 0
    results = {}
    with TemporaryDirectory(prefix="workbench-mutants-") as folder:
        tree = Tree(Path(folder))
        for area in areas:
            tests = arguments.tests or AREAS[area].tests
            if arguments.again:
                results[area] = try_again(tree, area, tests, before[area])
            else:
                every = mutations_of_area(tree, area)
                print(f"{area}: {len(every)} faults", flush=True)
                chosen = choose(every, arguments.sample, arguments.seed)
                sample = try_sample(tree, area, tests, chosen, arguments)
                known = before.get(area, AreaResult(0, []))
                results[area] = known.with_sample(len(every), sample)
            write_results(results)
    tried = sum(found.tried for found in results.values())
    noticed = sum(found.found for found in results.values())
    survivors = [s for found in results.values() for s in found.survivors]
    lacking = [survivor for survivor in survivors if not survivor.reason]
    print(f"{noticed} of {tried} faults were found; {len(lacking)} of the others have no reason.")
    print(f"Written: {DOCUMENT.relative_to(ROOT)}")
    return int(noticed < AIM * tried or bool(lacking))


def try_sample(
    tree: Tree,
    area: str,
    tests: Sequence[str],
    chosen: list[Mutation],
    arguments: argparse.Namespace,
) -> Sample:
    """Try these faults, as many as the time allows."""
    minutes = arguments.minutes or math.inf
    tried, survivors = try_each(tree, area, tree.baseline(tests), chosen, minutes, MOST_S)
    day = datetime.date.today().isoformat()
    few = arguments.tests is not None
    return Sample(arguments.seed, tried, tried - len(survivors), survivors, day, few)


def try_again(tree: Tree, area: str, tests: Sequence[str], before: AreaResult) -> AreaResult:
    """Try those that were not found once more, with the tests as they are now, however long."""
    every = {
        mutation: Survivor(
            str(mutation.file), mutation.line, mutation.change(tree.source(mutation.file))
        )
        for mutation in mutations_of_area(tree, area)
    }
    kept = without_edited(before, every.values())
    missed = {(survivor.file, survivor.change) for survivor in kept.survivors}
    chosen = [fault for fault, shown in every.items() if (shown.file, shown.change) in missed]
    lines = tree.baseline(tests)
    return kept.with_survivors(try_each(tree, area, lines, chosen, math.inf, math.inf)[1])


def without_edited(before: AreaResult, every: Iterable[Survivor]) -> AreaResult:
    """`before` without the faults in lines that were edited since: they were not found either."""
    known = {(fault.file, fault.change) for fault in every}
    samples = []
    for sample in before.samples:
        kept = [fault for fault in sample.survivors if (fault.file, fault.change) in known]
        gone = len(sample.survivors) - len(kept)
        samples.append(sample._replace(tried=sample.tried - gone, survivors=kept))
    return before._replace(samples=samples)


def mutations_of_area(tree: Tree, area: str) -> list[Mutation]:
    files = AREAS[area].files(tree.root)
    return [mutation for file in files for mutation in mutations_of(file, tree.source(file))]


def try_each(
    tree: Tree, area: str, lines: Lines, chosen: list[Mutation], minutes: float, most_s: float
) -> tuple[int, list[Survivor]]:
    """Try one after another for so long, and say how it went.

    Returns:
        How many were tried, and those that no test noticed, by file and line.
    """
    ends = time.monotonic() + 60 * minutes
    print(f"{area}: {len(lines.seconds)} tests pass without a fault", flush=True)
    survivors = []
    number = 0
    for number, mutation in enumerate(chosen, 1):
        started = time.monotonic()
        source = tree.source(mutation.file)
        tests = within(lines, lines.tests(mutation.file, source, mutation.line), most_s)
        outcome = tree.try_fault(mutation, tests)
        change = mutation.change(source)
        if outcome.code == 0:
            survivors.append(Survivor(str(mutation.file), mutation.line, change))
        print(
            f"{area} {number}/{len(chosen)} {outcome.word if outcome.code != 0 else 'NOT FOUND'}"
            f" {time.monotonic() - started:.0f} s of {len(tests)} tests "
            f" {mutation.file}:{mutation.line}  {change}",
            flush=True,
        )
        if time.monotonic() > ends:
            break
    tree.check(list(lines.seconds))
    return number, sorted(survivors)


def within(lines: Lines, tests: list[str], most_s: float) -> dict[str, float]:
    """The first of these tests that take so long together, at least one; with their seconds."""
    taken = itertools.accumulate(lines.seconds[test] for test in tests)
    count = sum(1 for seconds in taken if seconds <= most_s)
    return {test: lines.seconds[test] for test in tests[: max(1, count)]}


def choose(every: list[Mutation], sample: int | None, seed: int) -> list[Mutation]:
    """`sample` of them, or all, in an order by the seed: the first of them are a sample too."""
    shuffled = sorted(every)
    random.Random(seed).shuffle(shuffled)
    return shuffled[:sample]


if __name__ == "__main__":
    sys.exit(main())
