"""Each line of the table of frameworks in docs/ortmodule.md names tests that there are.

Some of them belong to the tests that every change runs, of each framework at least one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
ALWAYS = {
    "DistributedDataParallel": {
        "test_ranks_train_as_with_the_plain_module[ddp-join]",
        "test_ranks_train_as_with_the_plain_module[ddp-pieces-tied]",
    },
    "fully_shard": {"test_ranks_train_as_with_the_plain_module[fully-shard-reshard]"},
    "FullyShardedDataParallel": {"test_ranks_train_as_with_the_plain_module[fsdp-1]"},
    "Hugging Face": {
        "test_trains_as_the_plain_module[script-classify-text]",
    },
    "Accelerate": {"test_trains_as_the_plain_module[accelerate]"},
    "Lightning": {
        "test_a_resumed_training_ends_where_a_whole_one_does",
        "test_trains_as_the_plain_module[lightning-bfloat16]",
    },
    "DeepSpeed": {
        "test_deepspeed_continues_from_its_checkpoint",
        "test_modules_partitioned_by_zero_3_run_in_pytorch",
    },
    "wb.train": {"test_a_rank_that_dies_ends_the_run_with_its_reason"},
    "Flower": {"test_one_client_is_training"},
}
"""By framework the tests of its line that are not left to the long runs."""


class Named(NamedTuple):
    """A test that the table names."""

    module: str
    function: str
    case: str

    @property
    def words(self) -> str:
        return f"{self.function}[{self.case}]" if self.case else self.function


def lines() -> dict[str, str]:
    """The column of tests, by framework."""
    text = (ROOT / "docs" / "ortmodule.md").read_text(encoding="utf-8")
    table = text.split("| framework | how | tested | test |\n", 1)[1].split("\n\n", 1)[0]
    cells = [row.strip("|").split(" | ") for row in table.splitlines()[1:]]
    return {row[0].strip(" `"): row[-1] for row in cells}


TABLE = lines()


def named_tests(text: str) -> list[Named]:
    # A test without a file is of the file before it.
    found = re.findall(r"`(?:(tests/\S+)\.py::)?(test_\w+)(?:\[([\w-]+)\])?`", text)
    assert len(found) == text.count("`") / 2, f"not a test: {text}"
    module, named = "", []
    for file, function, case in found:
        module = file.replace("/", ".") or module
        named.append(Named(module, function, case))
    return named


def cases(module: Any, function: Any) -> Iterator[tuple[str, bool]]:
    """Each case that a test has now, and whether it is left to the long runs; "" for the test."""
    marks = getattr(function, "pytestmark", [])
    of_file = getattr(module, "pytestmark", [])
    of_file = of_file if isinstance(of_file, list) else [of_file]
    long = any(mark.name == "sweep" for mark in (*marks, *of_file))
    every_long = [long]
    for mark in marks:
        if mark.name == "parametrize":
            every_long = []
            for given in mark.args[1]:
                own = getattr(given, "marks", ())
                is_long = long or any(each.name == "sweep" for each in own)
                every_long.append(is_long)
                values = getattr(given, "values", given if isinstance(given, tuple) else (given,))
                yield str(values[0]), is_long
    yield "", all(every_long)


@pytest.mark.parametrize("framework", ALWAYS)
def test_the_framework_has_a_line_with_its_tests(framework: str) -> None:
    (text,) = (tests for name, tests in TABLE.items() if name.startswith(framework))
    usual = set()
    for named in named_tests(text):
        module = import_module(named.module)
        function = getattr(module, named.function, None)
        assert function is not None, named
        long = dict(cases(module, function))
        # Of a table of cases, which the long runs have all of, the others have a part.
        if not long.get(named.case, True):
            usual.add(named.words)
        else:
            text_of_case = (ROOT / f"{named.module.replace('.', '/')}.py").parent
            known = named.case in long or any(
                f'"{named.case}"' in path.read_text() for path in text_of_case.glob("*.py")
            )
            assert known, f"{named.function} has no case {named.case}"
    assert usual >= ALWAYS[framework], ALWAYS[framework] - usual


def test_no_other_line_is_in_the_table() -> None:
    assert len(TABLE) == len(ALWAYS)
