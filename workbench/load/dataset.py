"""`load_dataset`: loads a dataset from any supported source."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.data import Dataset
from workbench.data.arguments import (
    check_classes,
    check_fraction,
    check_image_size,
    check_seed,
)
from workbench.data.row_source import RowSource
from workbench.data.rows import Rows, make_rows, split_rows, with_groups
from workbench.display.display_name import as_name, check_name
from workbench.errors import DataError, nearest, value_text
from workbench.files.input_file import check_file, display_path, path_exists, refuse_url
from workbench.files.user_path import user_path
from workbench.models import Model

DEFAULT_TEST_FRACTION = 0.2


def load_dataset(
    source: Any,
    target: Any = None,
    *,
    name: str | None = None,
    test_fraction: float = DEFAULT_TEST_FRACTION,
    seed: int = 0,
    classes: tuple[str, ...] | None = None,
    target_dtype: str | None = None,
    image_size: tuple[int, int] | None = None,
    groups: Any = None,
) -> Dataset:
    """Load a dataset and split it.

    Floating-point inputs become float32, integers int64; booleans are kept. Integer and boolean
    targets are class indices (int64); text labels become class indices in alphabetical order; other
    targets become float32.

    Args:
        source: the name of a sample dataset ("digits") or of a sample model; a sample `Model`; an
            array, or a tuple or dict of arrays, one per model input, each (rows, ...); the path of
            a .npz file, a .csv file, or a folder with one subfolder of images per class; a
            map-style torch Dataset that yields (inputs, target).
        target: for arrays, the targets (rows, ...), or a tuple of arrays, one per loss; for .csv,
            the name of the target column; for .npz, the name of the target member (default: y,
            target, targets, label or labels), or several, comma-separated.
        name: display name; None: derived from the source.
        test_fraction: share of the rows held out for testing, 0 to below 1.
        seed: random seed of the split.
        classes: class names in the order of their indices.
        target_dtype: "float32" or "int64" to override the default for the target's dtype.
        image_size: (height, width) in pixels to which images of a folder are resized; None: all
            must have the same size.
        groups: the group of each row, such as the user that it is from, for `wb.federated.groups`:
            for .csv, the name of a column, which is then no input; otherwise an array (rows,) of
            text or integers, which is split as the rows are.

    Raises:
        DataError: the source is unknown, missing or corrupt; it contains NaN, infinity, objects or
            no rows; inputs and target have different lengths.
    """
    check_fraction(test_fraction)
    check_seed(seed)
    check_image_size(image_size)
    check_classes(classes)
    check_name(name, DataError)
    sample = _sample_name(source)
    if sample is not None:
        if target is not None:
            raise DataError(f"Dataset {sample!r} already has a target; omit target.")
        if groups is not None:
            raise DataError(f"Dataset {sample!r} has no groups; omit groups.")
        dataset = _load_sample(sample, test_fraction, seed)
        return Dataset(
            name or dataset.name, dataset.train, dataset.test, dataset.classes, dataset.vocabulary
        )
    try:
        found, rows = _read(source, target, target_dtype, image_size, groups)
    except DataError as error:
        if _hides_sample(source):
            raise DataError(
                f"{error} {source!r} is here, so the sample of that name was not loaded: rename "
                "it to load the sample."
            ) from error
        raise
    if classes is not None:
        rows = rows._replace(classes=tuple(classes))
    return split_rows(rows, name or found, test_fraction, seed)


def _sample_name(source: Any) -> str | None:
    """The name of the sample dataset or model that `source` refers to; None if it is not a
    sample."""
    if isinstance(source, Model):
        if source.dataset is None:
            raise DataError(
                f"Model {source.name!r} has no default dataset; only samples have one. "
                "Pass arrays, a file, a folder of images or a torch Dataset."
            )
        return source.dataset
    if not isinstance(source, str):
        return None
    if not source.strip():
        raise DataError(f"source={source!r}: give the name of a sample or a path.")
    refuse_url(source, DataError)
    suffix = Path(source).suffix.lower()
    looks_like_path = "/" in source or "\\" in source or suffix in (".npz", ".csv")
    return None if looks_like_path or path_exists(Path(source)) else source


def _hides_sample(source: Any) -> bool:
    """Whether a path that was read has the name of a sample dataset or model."""
    from sample_models import DATASETS, SAMPLES

    return isinstance(source, str) and (source in SAMPLES or source in DATASETS)


def _load_sample(name: str, test_fraction: float, seed: int) -> Dataset:
    from sample_models import DATASETS, SAMPLES

    known = SAMPLES[name].dataset_name if name in SAMPLES else name
    if known not in DATASETS:
        raise DataError(
            f"No dataset {value_text(name)}: there is no sample, file or folder of that name. "
            f"{nearest(name, DATASETS)}"
        )
    return DATASETS[known](test_fraction, seed)


def _read(
    source: Any,
    target: Any,
    target_dtype: str | None,
    image_size: tuple[int, int] | None,
    groups: Any,
) -> tuple[str, Rows]:
    """A name and the rows of `source`."""
    if isinstance(groups, str) and _is_csv(source):
        path = user_path(source)
        return as_name(path.stem), _read_table(path, target, target_dtype, groups)
    if isinstance(groups, str):
        raise DataError(
            f"groups={groups!r}: only a .csv file has columns; give an array with the group of "
            "each row."
        )
    name, rows = _read_rows(source, target, target_dtype, image_size)
    return name, rows if groups is None else with_groups(rows, _as_array(groups))


def _read_rows(
    source: Any, target: Any, target_dtype: str | None, image_size: tuple[int, int] | None
) -> tuple[str, Rows]:
    if isinstance(source, str | Path):
        path = user_path(source)
        return as_name(path.stem), _read_path(path, target, target_dtype, image_size)
    if _is_torch_dataset(source):
        from workbench.data.readers.torch_rows import read_torch_dataset

        return type(source).__name__, read_torch_dataset(source, target_dtype)
    if isinstance(source, Mapping):
        inputs = tuple(source.values())
    elif isinstance(source, tuple):
        inputs = source
    elif hasattr(source, "__array__") or isinstance(source, list):
        inputs = (source,)
    else:
        raise DataError(
            f"Cannot load a dataset from {type(source).__name__}. Pass the name of a sample, "
            "arrays, a .npz or .csv file, a folder of images or a map-style torch Dataset."
        )
    if target is None:
        raise DataError("Arrays need a target: load_dataset(inputs, target).")
    if isinstance(target, tuple) and all(getattr(one, "ndim", 0) for one in target):
        targets: Any = tuple(_as_array(one) for one in target)
    else:  # a tuple of numbers or rows is one target
        targets = list(target) if isinstance(target, tuple) else _as_array(target)
    return "arrays", make_rows([_as_array(one) for one in inputs], targets, target_dtype)


def _is_csv(source: Any) -> bool:
    return isinstance(source, str | Path) and Path(source).suffix.lower() == ".csv"


def _read_table(path: Path, target: Any, target_dtype: str | None, groups: str | None) -> Rows:
    from workbench.data.readers.csv_file import read_csv

    _check_target_name(target)
    check_file(path, DataError)
    return read_csv(path, target, target_dtype, groups)


def _check_target_name(target: Any) -> None:
    if target is not None and not isinstance(target, str):
        raise DataError(
            f"With a path, target must be the name of the target, not {type(target).__name__}."
        )


def _read_path(
    path: Path, target: Any, target_dtype: str | None, image_size: tuple[int, int] | None
) -> Rows:
    _check_target_name(target)
    if path_exists(path) and path.is_dir():
        from workbench.data.readers.image_folder import read_image_folder

        rows = read_image_folder(path, image_size)
        return rows._replace(source=RowSource(str(path.absolute())))
    check_file(path, DataError)
    if path.suffix.lower() == ".npz":
        from workbench.data.readers.npz_file import read_npz

        rows = read_npz(path, target, target_dtype)
        return rows._replace(source=RowSource(str(path.absolute()), target or ""))
    if _is_csv(path):
        return _read_table(path, target, target_dtype, None)
    raise DataError(f"{display_path(path)} is not a .npz file, a .csv file or a folder of images.")


def _is_torch_dataset(source: Any) -> bool:
    # A torch Dataset can only exist once torch is loaded; another thread may be loading it now.
    dataset_class = getattr(sys.modules.get("torch.utils.data"), "Dataset", None)
    return dataset_class is not None and isinstance(source, dataset_class)


def _as_array(values: Any) -> Any:
    """A tensor as a numpy array; other values unchanged."""
    detach = getattr(values, "detach", None)
    return detach().cpu().numpy() if callable(detach) else values
