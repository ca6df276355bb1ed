"""Variables of code that a page makes are renamed where the notebook has objects of their names."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import workbench as wb
from workbench.controller.code.free_names import taken_names, with_free_names


@pytest.mark.parametrize(
    ("code", "renamed"),
    [
        ("run = wb.load_run('run')\n", "wb_run = wb.load_run('run')\n"),
        ("f(run=run, a=[run])\n", "f(run=wb_run, a=[wb_run])\n"),
        ("a.run(run).run\n", "a.run(wb_run).run\n"),
        ("for engine in x:\n    run = 1\n    run.plot()\n",
         "for engine in x:\n    wb_run = 1\n    wb_run.plot()\n"),
        ("runs(run_id)\n# run.stop()\n", "runs(run_id)\n# run.stop()\n"),
        ("f(\n    run,\n    b=(run, 'run'),\n)\n", "f(\n    wb_run,\n    b=(wb_run, 'run'),\n)\n"),
    ],
)  # fmt: skip
def test_only_variables_are_renamed(code: str, renamed: str) -> None:
    assert with_free_names(code, {"run"}) == renamed
    assert with_free_names(code, {"other"}) == code


def test_imports_and_loops_replace_nothing_either() -> None:
    code = "import pandas as pd\n\nfor engine in x:\n    pd.f(engine)\n"
    taken = taken_names({"pd": "mine", "engine": 7}, [])
    assert with_free_names(code, taken) == (
        "import pandas as wb_pd\n\nfor wb_engine in x:\n    wb_pd.f(wb_engine)\n"
    )
    assert taken_names({"pd": pandas, "engine": "ondevice"}, []) == set()
    assert taken_names({"engine": np.zeros(3)}, []) == {"engine"}


def test_a_new_name_is_free_too() -> None:
    assert with_free_names("run = 1\n", {"run", "wb_run"}) == "wb_run_ = 1\n"


def test_objects_of_the_workbench_are_those_of_a_cell_before() -> None:
    names = {"model": wb.load_model("digits-mlp"), "run": 7, "wb_run": 8}
    assert taken_names(names, []) == {"run", "wb_run"}
    assert taken_names(names, ["model"]) == {"run", "wb_run", "model"}


def test_objects_whose_class_raises_are_the_notebooks() -> None:
    class Hostile:
        @property
        def __class__(self) -> type:  # type: ignore[override]
            raise ZeroDivisionError

    names = {"run": Hostile(), "engine": Hostile()}
    assert taken_names(names, []) == {"run", "engine"}
