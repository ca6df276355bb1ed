"""Display name, tags and notes of a run: kept beside its record, and safe whatever is typed."""

from __future__ import annotations

import threading

import pytest

from tests.runs.recorded import recorded
from workbench.data import Dataset
from workbench.errors import RunFolderError
from workbench.runs import Run, load_run, runs


@pytest.fixture
def run(digits: Dataset) -> Run:
    return Run(recorded(digits))


def test_labels_are_kept_and_found(run: Run) -> None:
    assert (run.name, run.tags, run.notes) == (run.id, (), "")
    run.rename(" first try ")
    run.tags = "baseline, lesson 2, baseline"
    run.notes = "two\nlines"
    again = load_run(run.id)
    assert (again.name, again.tags, again.notes) == (
        *("first try", ("baseline", "lesson 2")),
        "two\nlines",
    )
    [row] = runs(tag="lesson 2").to_dict("records")
    assert (row["id"], row["name"], row["tags"]) == (run.id, "first try", ("baseline", "lesson 2"))
    assert runs(tag="lesson").empty
    again.rename("")
    assert run.name == run.id
    assert run.tags == ("baseline", "lesson 2")


@pytest.mark.parametrize("name", ["<b>&amp;</b>", "$x^2$", "_hidden", "é 漢字", "../../etc"])
def test_any_printable_name_is_text(run: Run, name: str) -> None:
    run.rename(name)
    assert run.name == name
    run.plot()


@pytest.mark.fault
@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "a\nb", 7, None])
def test_a_name_that_no_page_can_show_is_refused(run: Run, name: object) -> None:
    with pytest.raises(RunFolderError, match="name="):
        run.rename(name)  # type: ignore[arg-type]
    assert run.name == run.id


@pytest.mark.fault
@pytest.mark.parametrize("tags", [["x" * 61], ["a\0"], [3], ["a,b"], [f"t{i}" for i in range(51)]])
def test_wrong_tags_are_refused(run: Run, tags: list[str]) -> None:
    with pytest.raises(RunFolderError, match="tag"):
        run.tags = tags  # type: ignore[assignment]
    assert run.tags == ()


@pytest.mark.fault
@pytest.mark.parametrize("notes", ["x" * 10_001, "a\0b", 3])
def test_wrong_notes_are_refused(run: Run, notes: str) -> None:
    with pytest.raises(RunFolderError, match="notes"):
        run.notes = notes


@pytest.mark.fault
@pytest.mark.parametrize(
    "content", ["{", "[]", '{"name": 3}', '{"tags": ["a", 1]}', '{"name": "a\\u202eb"}']
)
def test_corrupt_labels_are_reported_and_kept(run: Run, content: str) -> None:
    run.folder.labels_path.write_text(content)
    with pytest.raises(RunFolderError, match=r"labels\.json"):
        _ = run.tags
    with pytest.raises(RunFolderError, match=r"labels\.json"):
        run.rename("a name")
    assert run.folder.labels_path.read_text() == content
    assert runs()["error"][0].count("labels.json") == 1


@pytest.mark.fault
def test_a_run_that_is_gone_cannot_be_labelled(run: Run) -> None:
    run.delete()
    with pytest.raises(RunFolderError, match="does not exist any more"):
        run.rename("a name")


def test_two_who_label_at_once_lose_nothing(run: Run) -> None:
    def rename() -> None:
        for number in range(40):
            run.rename(f"name {number}")

    thread = threading.Thread(target=rename)
    thread.start()
    for number in range(40):
        run.tags = [f"tag {number}"]
    thread.join()
    assert (run.name, run.tags) == ("name 39", ("tag 39",))
