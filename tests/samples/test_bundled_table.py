"""The tables that scikit-learn ships, read as scikit-learn reads them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from sklearn import datasets

from sample_models.bundled_table import bundled_table
from workbench.errors import DataError


@pytest.mark.parametrize(
    ("file", "load"),
    [
        ("digits.csv.gz", datasets.load_digits),
        ("breast_cancer.csv", datasets.load_breast_cancer),
    ],
)
def test_the_table_equals_that_of_scikit_learn(file: str, load: object) -> None:
    assert callable(load)
    rows, classes = load(return_X_y=True)
    table = bundled_table(file)
    np.testing.assert_array_equal(table[:, :-1], rows)
    np.testing.assert_array_equal(table[:, -1], classes)
    assert table.dtype == rows.dtype == np.float64


def test_a_missing_file_or_package_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"none\.csv, come with scikit-learn"):
        bundled_table("none.csv")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(DataError, match="pip install"):
        bundled_table("digits.csv.gz")


@pytest.mark.parametrize("name", ["digits", "breast-cancer"])
def test_scikit_learn_is_not_imported(name: str) -> None:
    program = (
        f"import sys, workbench as wb; wb.load_dataset({name!r}); print('sklearn' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"]
