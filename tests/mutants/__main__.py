"""`python -m tests.mutants [AREA ...] [--sample N] [--seed N]`: put faults in, see tests fail.

Exit status 1 where fewer than nine of ten are found, or a survivor has no reason.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.areas import AREAS, ROOT
from tests.mutants.mutations import Mutation, mutations_of
from tests.mutants.report import DOCUMENT, AreaResult, Survivor, write_results
from tests.mutants.trial import Tree

AIM = 0.9
"""Share of the faults that the tests are to notice."""
PATIENCE = 2
"""Tests that take this many times as long as without a fault have noticed it."""
GRACE_S = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("areas", nargs="*", choices=[*AREAS, []], help=f"of {', '.join(AREAS)}")
    parser.add_argument("--sample", type=int, help="faults of each area; without it all")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of the sample")
    arguments = parser.parse_args()
    results = {}
    with TemporaryDirectory(prefix="workbench-mutants-") as folder:
        tree = Tree(Path(folder))
        for area in arguments.areas or AREAS:
            results[area] = try_area(tree, area, arguments.sample, arguments.seed)
            write_results(results)
    tried = sum(found.tried for found in results.values())
    noticed = sum(found.found for found in results.values())
    lacking = [s for found in results.values() for s in found.survivors if not s.reason]
    print(f"{noticed} of {tried} faults were found; {len(lacking)} of the others have no reason.")
    print(f"Written: {DOCUMENT.relative_to(ROOT)}")
    return int(noticed < AIM * tried or bool(lacking))


def try_area(tree: Tree, area: str, sample: int | None, seed: int) -> AreaResult:
    """Try the faults of one area, or a sample of them, and say how each went."""
    files = AREAS[area].files(tree.root)
    sources = {file: (tree.root / file).read_text(encoding="utf-8") for file in files}
    every = [
        mutation for file, source in sources.items() for mutation in mutations_of(file, source)
    ]
    tests = AREAS[area].tests
    seconds = tree.baseline(tests)
    print(f"{area}: {len(every)} faults; the tests take {seconds:.0f} s", flush=True)
    survivors = []
    chosen = choose(every, sample, seed)
    for number, mutation in enumerate(chosen, 1):
        started = time.monotonic()
        noticed = tree.notices(mutation, tests, PATIENCE * seconds + GRACE_S)
        change = mutation.change(sources[mutation.file])
        if not noticed:
            survivors.append(Survivor(str(mutation.file), mutation.line, change))
        print(
            f"{area} {number}/{len(chosen)} {'found' if noticed else 'NOT FOUND'} "
            f"{time.monotonic() - started:.0f} s  {mutation.file}:{mutation.line}  {change}",
            flush=True,
        )
    return AreaResult(len(every), len(chosen), seed, survivors)


def choose(every: list[Mutation], sample: int | None, seed: int) -> list[Mutation]:
    """`sample` of them by the seed, in their order; all where it is None or there are no more."""
    if sample is None or sample >= len(every):
        return every
    return sorted(random.Random(seed).sample(every, sample))


if __name__ == "__main__":
    sys.exit(main())
