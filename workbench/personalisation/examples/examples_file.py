"""Files of examples: .npz archives of plain arrays, never pickled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workbench.data.readers.npz_file import read_arrays
from workbench.errors import DataError
from workbench.files.input_file import check_file, display_path
from workbench.files.output_file import replacing_file
from workbench.personalisation.examples.example import (
    LONGEST_LABEL,
    LONGEST_TEXT,
    MOST,
    Example,
    Kind,
    check_kind,
    check_label,
    is_stored,
)

MOST_BYTES = 200_000_000
"""Size limit of a file, uncompressed: the recordings of a full collection, with their labels."""
FORMAT = 1
"""Version of the layout. Newer versions are refused."""


def write_examples(
    kind: Kind, classes: Sequence[str], items: Sequence[Example], path: Path
) -> Path:
    """Write the examples `items` to a .npz file.

    Its members: `format`; `kind`, `classes` and `labels`, str; `ids`, (examples,), int64; `values`,
    (examples, 28, 28) uint8, (examples, 8000) int16, or all texts in UTF-8, (bytes,) uint8; and
    `lengths` of the texts in bytes, int64.

    Raises:
        DataError: it cannot be written, or the suffix is not .npz.
    """
    if path.suffix != ".npz":
        raise DataError(f"{display_path(path)}: give a file with the suffix .npz.")
    values = [item.value for item in items]
    # As UTF-8: each str of an array would take the space of the longest.
    texts = kind == "text"
    stored = _bytes_of(values) if texts else _stacked(values)
    if stored.nbytes > MOST_BYTES * 9 // 10:
        raise DataError(
            f"The examples take {stored.nbytes / 1e6:,.0f} MB, which is too much for one file; "
            "remove some."
        )
    with replacing_file(path, DataError) as temporary:
        np.savez_compressed(
            temporary,
            format=np.array(FORMAT),
            kind=np.array(kind),
            classes=np.array(classes, f"U{LONGEST_LABEL}"),
            ids=np.array([item.id for item in items], np.int64),
            labels=np.array([item.label for item in items], f"U{LONGEST_LABEL}"),
            values=stored,
            lengths=np.array([len(str(value).encode()) for value in values if texts], np.int64),
        )
    return path


def _stacked(values: list[np.ndarray | str]) -> np.ndarray:
    return np.stack([np.asarray(value) for value in values]) if values else np.zeros(0)


def _bytes_of(texts: list[np.ndarray | str]) -> np.ndarray:
    """All texts in UTF-8, one after another, uint8."""
    return np.frombuffer("".join(map(str, texts)).encode(), np.uint8)


def read_examples(path: Path) -> tuple[Kind, list[str], list[Example]]:
    """Read what `write_examples` wrote: kind, classes and examples.

    Raises:
        DataError: the file is missing, corrupt, of a newer version, or holds something else.
    """
    check_file(path, DataError)
    members = read_arrays(path, MOST_BYTES)
    try:
        return _examples(members)
    except DataError as error:
        raise DataError(f"{display_path(path)} holds no valid examples: {error}") from None
    except KeyError as error:
        raise DataError(
            f"{display_path(path)} is not a file written by Examples.save: it has no "
            f"{error.args[0]!r}."
        ) from None
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataError(
            f"{display_path(path)} is not a file written by Examples.save: "
            f"{type(error).__name__}: {error}."
        ) from None


def _examples(members: dict[str, np.ndarray]) -> tuple[Kind, list[str], list[Example]]:
    version = int(members["format"])
    if version > FORMAT:
        raise DataError(f"a newer workbench wrote them (format {version}); upgrade this one.")
    kind = check_kind(str(members["kind"]))
    ids, labels, values = members["ids"], members["labels"], members["values"]
    if ids.shape != labels.shape or ids.ndim != 1 or ids.dtype != np.int64:
        raise DataError(f"there are {ids.shape} ids and {labels.shape} labels.")
    if len(ids) > MOST or len(members["classes"]) > MOST:
        raise DataError(f"there are {len(ids):,} examples; at most {MOST:,} are read.")
    if len(np.unique(ids)) != len(ids) or (len(ids) and ids.min() < 1):
        raise DataError("ids must be different and positive.")
    kept: list[np.ndarray | str]
    if kind == "text":
        kept = _texts(values, members["lengths"])
    elif len(ids) and not is_stored(kind, values):
        raise DataError(f"its values are {values.dtype} of shape {values.shape}.")
    else:
        kept = list(values)
    items = [
        Example(int(number), check_label(str(label)), value)
        for number, label, value in zip(ids, labels, kept, strict=True)
    ]
    classes = list(map(str, members["classes"]))
    return kind, list(dict.fromkeys([*classes, *(item.label for item in items)])), items


def _texts(content: np.ndarray, lengths: np.ndarray) -> list[np.ndarray | str]:
    if content.dtype != np.uint8 or lengths.dtype != np.int64 or (lengths < 0).any():
        raise DataError(f"its texts are {content.dtype} and {lengths.dtype}.")
    if lengths.sum() != content.size or (lengths > 4 * LONGEST_TEXT).any():
        raise DataError("the lengths of its texts do not fit.")
    ends = np.cumsum(lengths)
    return [
        content[end - length : end].tobytes().decode()
        for end, length in zip(ends, lengths, strict=True)
    ]
