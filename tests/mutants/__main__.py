"""`python -m tests.mutants [AREA ...] [--sample N] [--seed N]`: put faults in, see tests fail.

Exit status 1 where fewer than nine of ten are found, or a survivor has no reason.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.areas import AREAS, ROOT
from tests.mutants.mutations import Mutation, mutations_of
from tests.mutants.report import DOCUMENT, AreaResult, Survivor, read_results, write_results
from tests.mutants.trial import Tree

AIM = 0.9
"""Share of the faults that the tests are to notice."""
PATIENCE = 2
"""A test that takes this many times as long as the longest without a fault has noticed it."""
GRACE_S = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("areas", nargs="*", choices=[*AREAS, []], help=f"of {', '.join(AREAS)}")
    parser.add_argument("--sample", type=int, help="faults of each area; without it all")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of the sample")
    parser.add_argument("--minutes", type=float, help="for each area; without it all that it takes")
    parser.add_argument(
        "--again", action="store_true", help="only the faults of the results that none noticed"
    )
    arguments = parser.parse_args()
    results = {}
    before = read_results()
    areas = arguments.areas or [*AREAS]
    if arguments.again and (new := [area for area in areas if area not in before]):
        print(f"Not tried before, so there is nothing to try again: {', '.join(new)}")
        areas = [area for area in areas if area in before]
        if not areas:
            return 0
    with TemporaryDirectory(prefix="workbench-mutants-") as folder:
        tree = Tree(Path(folder))
        for area in areas:
            results[area] = (
                try_again(tree, area, before[area])
                if arguments.again
                else try_area(
                    tree, area, arguments.sample, arguments.seed, arguments.minutes or math.inf
                )
            )
            write_results(results)
    tried = sum(found.tried for found in results.values())
    noticed = sum(found.found for found in results.values())
    lacking = [s for found in results.values() for s in found.survivors if not s.reason]
    print(f"{noticed} of {tried} faults were found; {len(lacking)} of the others have no reason.")
    print(f"Written: {DOCUMENT.relative_to(ROOT)}")
    return int(noticed < AIM * tried or bool(lacking))


def try_area(tree: Tree, area: str, sample: int | None, seed: int, minutes: float) -> AreaResult:
    """Try the faults of one area, or a sample of them, and say how each went."""
    every = mutations_of_area(tree, area)
    print(f"{area}: {len(every)} faults", flush=True)
    tried, survivors = try_each(tree, area, choose(every, sample, seed), minutes)
    return AreaResult(len(every), tried, seed, survivors)


def try_again(tree: Tree, area: str, before: AreaResult) -> AreaResult:
    """Try those that were not found once more, with the tests as they are now."""
    every = {
        mutation: Survivor(
            str(mutation.file), mutation.line, mutation.change(tree.source(mutation.file))
        )
        for mutation in mutations_of_area(tree, area)
    }
    kept = without_edited(before, every.values())
    missed = {(survivor.file, survivor.change) for survivor in kept.survivors}
    chosen = [fault for fault, shown in every.items() if (shown.file, shown.change) in missed]
    return kept._replace(survivors=try_each(tree, area, chosen, math.inf)[1])


def without_edited(before: AreaResult, every: Iterable[Survivor]) -> AreaResult:
    """`before` without the faults in lines that were edited since: they were not found either."""
    known = {(fault.file, fault.change) for fault in every}
    kept = [fault for fault in before.survivors if (fault.file, fault.change) in known]
    gone = len(before.survivors) - len(kept)
    return before._replace(tried=before.tried - gone, survivors=kept)


def mutations_of_area(tree: Tree, area: str) -> list[Mutation]:
    files = AREAS[area].files(tree.root)
    return [mutation for file in files for mutation in mutations_of(file, tree.source(file))]


def try_each(
    tree: Tree, area: str, chosen: list[Mutation], minutes: float
) -> tuple[int, list[Survivor]]:
    """Try one after another for so long, and say how it went.

    Returns:
        How many were tried, and those that no test noticed, by file and line.
    """
    lines = tree.baseline(AREAS[area].tests)
    ends = time.monotonic() + 60 * minutes
    print(f"{area}: {len(lines.seconds)} tests pass without a fault", flush=True)
    survivors = []
    number = 0
    for number, mutation in enumerate(chosen, 1):
        started = time.monotonic()
        source = tree.source(mutation.file)
        tests = lines.tests(mutation.file, source, mutation.line)
        seconds = [lines.seconds[test] for test in tests]
        limits = PATIENCE * max(seconds) + GRACE_S, PATIENCE * sum(seconds) + GRACE_S
        outcome = tree.try_fault(mutation, tests, *limits)
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


def choose(every: list[Mutation], sample: int | None, seed: int) -> list[Mutation]:
    """`sample` of them, or all, in an order by the seed: the first of them are a sample too."""
    shuffled = sorted(every)
    random.Random(seed).shuffle(shuffled)
    return shuffled[:sample]


if __name__ == "__main__":
    sys.exit(main())
