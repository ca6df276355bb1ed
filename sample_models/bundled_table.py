"""Tables of numbers that scikit-learn ships."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np


def bundled_table(file: str) -> np.ndarray:
    """The rows of `file`, (rows, columns), float64; the last column is the class.

    The file alone is read, for to import scikit-learn takes two seconds.

    Raises:
        DataError: scikit-learn is not installed, or is a version without that file.
    """
    from workbench.errors import DataError

    found = importlib.util.find_spec("sklearn")
    places = [] if found is None else found.submodule_search_locations or []
    for place in places:
        path = Path(place, "datasets", "data", file)
        if path.is_file():
            # What is not compressed begins with a line that counts rows and names classes.
            return np.loadtxt(path, delimiter=",", skiprows=0 if path.suffix == ".gz" else 1)
    raise DataError(
        f"The data of this sample, {file}, come with scikit-learn, which is not installed here or "
        "has no such file: pip install 'scikit-learn>=1.5,<2'."
    )
