"""The faults that `make mutants` tries are what they are said to be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import __main__ as program
from tests.mutants import trial
from tests.mutants.__main__ import choose, within
from tests.mutants.areas import AREAS, ROOT
from tests.mutants.mutations import mutations_of
from tests.mutants.selection import Lines
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


@pytest.mark.sweep
def test_every_fault_can_be_compiled() -> None:
    for area in ("events", "control"):
        for file in AREAS[area].files():
            source = (ROOT / file).read_text(encoding="utf-8")
            for mutation in mutations_of(file, source):
                made = mutation.apply(source)
                assert ast.dump(ast.parse(made)) != ast.dump(ast.parse(source)), mutation


@pytest.mark.sweep
def test_the_statement_that_keeps_the_last_weights_is_among_them() -> None:
    file = Path("workbench/worker/loop.py")
    source = (ROOT / file).read_text(encoding="utf-8")
    changes = [mutation.change(source) for mutation in mutations_of(file, source)]
    assert "self._checkpointer.save(self._progress) → pass" in changes


@pytest.mark.sweep
def test_a_fault_is_in_the_workers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's program alone has the fault: no test could see it from its own process."""
    monkeypatch.setenv("PYTHONPATH", "")  # and the working directory are put back after the test
    monkeypatch.chdir(tmp_path)
    tree = Tree(tmp_path / "trial")
    file = Path("workbench/child_process/exit_reason.py")
    source = (tree.root / file).read_text(encoding="utf-8")
    every = mutations_of(file, source)
    raised = next(m for m in every if m.change(source).startswith("EXIT_UNWRITABLE = 74 →"))
    (tree.root / file).write_text(raised.apply(source), encoding="utf-8")
    command = [sys.executable, "-m", "workbench.worker", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (73, 75), done.stderr


SHARED = """
import subprocess, sys
import pytest
from workbench.run_folder.control import create_control, request_state

@pytest.fixture(scope="module")
def control(tmp_path_factory):
    path = tmp_path_factory.mktemp("one") / "control.bin"
    create_control(path, 3)
    return path

def test_makes_it_first(control):
    pass

def test_reads_it(control):
    assert control.stat().st_size

def test_asks_elsewhere(tmp_path):
    create = "import sys; from pathlib import Path; from workbench.run_folder import control;"
    create += "control.create_control(Path(sys.argv[1]), 3)"
    subprocess.run([sys.executable, "-c", create, str(tmp_path / "c")], check=True)

def test_does_nothing():
    pass
"""


FLAKY = """
from pathlib import Path

def test_passes():
    pass

def test_once():
    known = Path("tried").exists()
    Path("tried").touch()
    assert known

def test_always():
    assert False
"""


OTHER = """
import time
import pytest

@pytest.fixture(scope="module")
def control():
    time.sleep(2)

def test_waits(control):
    pass
"""


ENDLESS = """
def test_never_ends():
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tree, Lines]:
    """A tree, and what a few tests of it execute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", "")
        patch.chdir(tmp_path_factory.mktemp("here"))
        tree = Tree(tmp_path_factory.mktemp("trial"))
        (tree.root / "tests" / "test_shared.py").write_text(SHARED)
        (tree.root / "tests" / "test_other.py").write_text(OTHER)
        return tree, tree.baseline(["tests/test_shared.py", "tests/test_other.py"])


@pytest.mark.sweep
def test_the_tests_of_a_line_are_those_that_execute_it(seen: tuple[Tree, Lines]) -> None:
    """In a process that they start, and in what they share, whoever comes first."""
    _, lines = seen
    file = Path("workbench/run_folder/control.py")
    source = (ROOT / file).read_text(encoding="utf-8")

    def tests(text: str) -> set[str]:
        line = source[: source.index(text)].count("\n") + 1
        return {test.split("::test_")[1] for test in lines.tests(file, source, line)}

    every = {"makes_it_first", "reads_it", "asks_elsewhere", "does_nothing", "waits"}
    assert tests("file.write(_ALL") == every - {"does_nothing", "waits"}
    assert tests("NO_LIMIT = ") == every, "it runs when the module is imported"
    assert tests("def request_state") == every, "nothing is known of it"


def test_a_test_takes_as_long_as_what_it_shares_in_its_own_file(seen: tuple[Tree, Lines]) -> None:
    """The other fixture of that name takes two seconds."""
    *others, last = seen[1].seconds
    assert last == "tests/test_other.py::test_waits"
    assert seen[1].seconds[last] >= 2
    assert len(others) == 4


def test_a_fault_is_noticed_and_gone(
    seen: tuple[Tree, Lines], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, lines = seen
    monkeypatch.setenv("PYTHONPATH", str(tree.root))
    monkeypatch.chdir(tree.root)
    file = Path("workbench/run_folder/control.py")
    source = (tree.root / file).read_text(encoding="utf-8")
    (fault,) = (
        m
        for m in mutations_of(file, source)
        if m.operator == "RemoveStatement" and "file.write(_ALL" in m.change(source)
    )
    outcome = tree.try_fault(fault, lines.seconds)
    assert outcome.code == pytest.ExitCode.TESTS_FAILED
    assert outcome.word.startswith("FAILED tests/test_shared.py::test_")
    assert (tree.root / file).read_text(encoding="utf-8") == source
    (idle,) = (test for test in lines.seconds if "nothing" in test)
    assert tree.try_fault(fault, {idle: 1.0}).code == 0


@pytest.mark.sweep
def test_a_test_that_fails_once_has_noticed_nothing(
    seen: tuple[Tree, Lines], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And those after it are run all the same."""
    tree, _ = seen
    monkeypatch.setenv("PYTHONPATH", str(tree.root))
    monkeypatch.chdir(tree.root)
    (tree.root / "tests" / "test_flaky.py").write_text(FLAKY)
    file = Path("workbench/run_folder/control.py")
    fault, *_ = mutations_of(file, (tree.root / file).read_text(encoding="utf-8"))
    tests = [f"tests/test_flaky.py::test_{name}" for name in ("passes", "once", "always")]
    assert tree.try_fault(fault, dict.fromkeys(tests[:2], 1.0)).code == 0
    assert capsys.readouterr().out == f"Passes the second time: FAILED {tests[1]}\n"
    (tree.root / "tried").unlink()
    assert tree.try_fault(fault, dict.fromkeys(tests, 1.0)).word == f"FAILED {tests[2]}"


@pytest.mark.sweep
def test_a_test_that_never_ends_has_noticed_the_fault(
    seen: tuple[Tree, Lines], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop swallows every exception."""
    tree, _ = seen
    monkeypatch.setenv("PYTHONPATH", str(tree.root))
    monkeypatch.chdir(tree.root)
    (tree.root / "tests" / "test_endless.py").write_text(ENDLESS)
    file = Path("workbench/run_folder/control.py")
    fault, *_ = mutations_of(file, (tree.root / file).read_text(encoding="utf-8"))
    monkeypatch.setattr(trial, "GRACE_S", 2.0)
    outcome = tree.try_fault(fault, {"tests/test_endless.py::test_never_ends": 0.0})
    assert outcome.word == "no end"


def test_a_sample_is_chosen_by_its_seed() -> None:
    every = mutations_of(Path("m.py"), SOURCE)
    assert sorted(choose(every, None, 0)) == sorted(choose(every, 99, 0)) == sorted(every)
    assert choose(every, 4, 1) == choose(every, 4, 1) == choose(every, None, 1)[:4]
    assert len({tuple(choose(every, 4, seed)) for seed in range(5)}) > 1


def test_the_tests_of_a_fault_take_so_long_together_but_one_is_run() -> None:
    lines = Lines({"a": 1.0, "b": 20.0, "c": 45.0, "d": 90.0}, {})
    assert within(lines, ["a", "b", "c"], 60) == {"a": 1.0, "b": 20.0}
    assert within(lines, ["a", "b", "c"], 66) == {"a": 1.0, "b": 20.0, "c": 45.0}
    assert within(lines, ["d"], 60) == {"d": 90.0}


def test_an_area_that_was_never_tried_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "read_results", dict)
    monkeypatch.setattr(sys, "argv", ["mutants", "events", "--again"])
    assert program.main() == 0
    assert "Not tried before, so there is nothing to try again: events" in capsys.readouterr().out


def test_every_source_and_test_of_an_area_is_there() -> None:
    for area in AREAS.values():
        assert area.files()
        for path in (*area.sources, *area.tests):
            assert (ROOT / path).exists(), path
