"""The faults that `make mutants` tries are what they are said to be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.__main__ import choose
from tests.mutants.areas import AREAS, ROOT
from tests.mutants.mutations import mutations_of
from tests.mutants.report import DOCUMENT, AreaResult, Survivor, document, read_results
from tests.mutants.trial import Tree

SOURCE = '''
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy


def measure(seconds: float | None, kept: list[float]) -> float | None:
    """Not a statement to leave out."""
    total: int | None = None
    kept.append(seconds)
    kept[0] = 2.5
    if seconds is None:
        raise ValueError(seconds)
    return seconds * 1e9


if __name__ == "__main__":
    measure(0.0, [])
'''


def test_each_fault_is_one_edit_of_the_code_that_runs() -> None:
    found = mutations_of(Path("m.py"), SOURCE)
    changes = {mutation.change(SOURCE) for mutation in found}
    assert changes == {
        "kept.append(seconds) → pass",
        "kept[0] = 2.5 → pass",
        "kept[0] = 2.5 → kept[ 1] = 2.5",
        "kept[0] = 2.5 → kept[ -1] = 2.5",
        "kept[0] = 2.5 → kept[0] = 3.5",
        "kept[0] = 2.5 → kept[0] = 1.5",
        "if seconds is None: → if not seconds is None:",
        "if seconds is None: → if seconds is not None:",
        "raise ValueError(seconds) → pass",
        "return seconds * 1e9 → return seconds / 1e9",
        "return seconds * 1e9 → return seconds * 1000000001.0",
        "return seconds * 1e9 → return seconds * 999999999.0",
    }
    assert len(found) == len(changes)
    assert {mutation.line for mutation in found} == {13, 14, 15, 16, 17}


def test_every_fault_can_be_compiled() -> None:
    for area in ("events", "control"):
        for file in AREAS[area].files():
            source = (ROOT / file).read_text(encoding="utf-8")
            for mutation in mutations_of(file, source):
                made = mutation.apply(source)
                assert ast.dump(ast.parse(made)) != ast.dump(ast.parse(source)), mutation


def test_the_statement_that_keeps_the_last_weights_is_among_them() -> None:
    file = Path("workbench/worker/loop.py")
    source = (ROOT / file).read_text(encoding="utf-8")
    changes = [mutation.change(source) for mutation in mutations_of(file, source)]
    assert "checkpointer.save(recorder.done_steps) → pass" in changes


def test_a_fault_is_in_the_workers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's program alone has the fault: no test could see it from its own process."""
    monkeypatch.setenv("PYTHONPATH", "")  # and the working directory are put back after the test
    monkeypatch.chdir(tmp_path)
    tree = Tree(tmp_path / "trial")
    file = Path("workbench/child_process/worker_end.py")
    source = (tree.root / file).read_text(encoding="utf-8")
    every = mutations_of(file, source)
    raised = next(m for m in every if m.change(source).startswith("EXIT_UNWRITABLE = 74 →"))
    (tree.root / file).write_text(raised.apply(source), encoding="utf-8")
    command = [sys.executable, "-m", "workbench.worker", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (73, 75), done.stderr


def test_a_sample_is_chosen_by_its_seed() -> None:
    every = mutations_of(Path("m.py"), SOURCE)
    assert choose(every, None, 0) == choose(every, 99, 0) == every
    assert choose(every, 4, 1) == choose(every, 4, 1) == sorted(choose(every, 4, 1))
    assert len({tuple(choose(every, 4, seed)) for seed in range(5)}) > 1


def test_the_document_counts_and_says_why() -> None:
    lost = Survivor("workbench/x.py", 3, "a → b")
    text = document({"worker": AreaResult(mutants=30, tried=10, seed=0, survivors=[lost])})
    assert "| worker | 30 | 10 | 9 | 90 % |" in text
    assert "| **all** | | 10 | 9 | 90 % |" in text
    assert "- `workbench/x.py`, line 3: `a → b`\n  **No reason is known" in text


def test_the_document_is_that_of_the_results() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(read_results())


def test_every_source_and_test_of_an_area_is_there() -> None:
    for area in AREAS.values():
        assert area.files()
        for path in (*area.sources, *area.tests):
            assert (ROOT / path).exists(), path
