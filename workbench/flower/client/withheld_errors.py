"""Errors of code that has a client's rows: their texts may contain values, and stay on the device.

Native code names the index or the label that it cannot use, and so do messages about datasets.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.data import Dataset, load_saved_dataset
from workbench.errors import EngineError


@contextmanager
def withheld_errors(work: str) -> Iterator[None]:
    """Raise, in place of any error, one that only names its class.

    The error itself is written to the standard error, which is the log of the device, or the
    worker.log of a simulated run.

    Args:
        work: what is done with the rows, in the past tense.

    Raises:
        EngineError: for the server.
    """
    try:
        yield
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        raise EngineError(
            f"it failed with {type(error).__name__} when it {work}. The text of the error may "
            "contain values of its rows: it is in the log of the client alone."
        ) from None


def load_rows(folder: Path) -> Dataset:
    """The dataset of a client.

    Raises:
        EngineError: it cannot be read.
    """
    with withheld_errors("read its rows"):
        return load_saved_dataset(folder)
