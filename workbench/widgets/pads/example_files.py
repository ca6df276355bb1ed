"""Files of examples as they go between the browser and the kernel: their bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from workbench.errors import DataError, value_text
from workbench.personalisation import Examples


def file_content(examples: Examples) -> bytes:
    """Content of the file that `Examples.save` writes."""
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        return examples.save(Path(folder, "examples.npz")).read_bytes()


def examples_in(content: bytes, name: str) -> Examples:
    """The examples that `Examples.load` reads from a file of that content.

    Args:
        content: of the file.
        name: under which the user knows it.

    Raises:
        DataError: it is corrupt.
    """
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        path = Path(folder, "examples.npz")
        path.write_bytes(content)
        try:
            return Examples.load(path)
        except DataError as error:
            raise DataError(str(error).replace(str(path), value_text(name))) from None
