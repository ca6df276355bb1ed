"""The table of `wb.runs()`."""

from __future__ import annotations

import pytest

from tests.runs.written import DONE, steps, write_run
from workbench.errors import ConfigError, RunFolderError
from workbench.run_folder.run_folder import home
from workbench.runs import runs


def test_the_table_has_the_columns_that_it_says() -> None:
    columns = [
        *("id", "model", "engine", "trained_by", "status", "steps", "loss"),
        *("samples_per_s", "other_cores", "duration_s", "name", "tags", "error"),
    ]
    assert list(runs().columns) == columns
    assert list(runs(active=True).columns) == [*columns, "folder"]
    failed = {"status": "failed", "error": {"type": "E", "message": "It broke.", "traceback": ""}}
    run = write_run("a", [steps(1, [1.0, 1.0], [3.0, 2.0])], failed, warmup_steps=0)
    run.tags = ["x"]
    write_run("b", [], DONE)
    assert runs()["error"].isna().tolist() == [True, False]
    assert runs()["error"][1] == "It broke."
    [row] = runs(tag="x").to_dict("records")
    assert (row["id"], row["steps"], row["loss"], row["samples_per_s"]) == (run.id, 2, 2.0, 10)
    assert (row["name"], row["tags"]) == ("", ("x",))
    assert (row["engine"], row["trained_by"]) == ("fake", "fake")
    run.folder.spec_path.write_text("[]")
    unreadable = runs().iloc[1].to_dict()
    assert (unreadable["status"], unreadable["name"], unreadable["tags"]) == ("unreadable", "", ())
    run.delete()
    assert list(runs(deleted=True)["id"]) == [run.id]
    with pytest.raises(ConfigError, match="active=True and deleted=True exclude each other"):
        runs(active=True, deleted=True)


@pytest.mark.fault
def test_runs_that_cannot_be_listed_state_the_reason() -> None:
    home().mkdir(parents=True, exist_ok=True)
    (home() / "runs").touch()
    with pytest.raises(RunFolderError) as refused:
        runs()
    assert str(refused.value) == (
        f"{home() / 'runs'} cannot be read: Not a directory. Set WORKBENCH_HOME to a folder."
    )
