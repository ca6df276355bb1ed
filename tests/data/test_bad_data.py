"""Data that would be corrupt silently, or that cannot be read, is refused in a sentence."""

from __future__ import annotations

import os
import socket
import zipfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.data.rows import X, Y
from workbench.errors import DataError, ModelError
from workbench.load import load_dataset, load_model

pytestmark = pytest.mark.fault


def refused(message: str, *arguments: Any, **settings: Any) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load_dataset(*arguments, **settings)
    assert "\n" not in str(caught.value)


# .csv

BAD_CSV: dict[str, tuple[bytes, str]] = {
    "one value more in every line": (b"a,b\n1,2,3\n4,5,6\n", "3 values in line 2, more than the 2"),
    "one value more": (b"a,b\n1,2\n3,4,5\n", "3 values in line 3, more than the 2 columns"),
    "one value fewer": (b"a,c,b\n1,2,3\n4,5\n", "2 values in line 3, fewer than the 3 columns"),
    "a comma at each end": (b"a,b\n1,2,\n3,4,\n", "3 values in line 2"),
    "after a quoted line break": (b'a,b\n1,"x\ny"\n3\n', "1 values in line 4, fewer"),
    "after an empty line": (b"a,b\n1,2\n\n3,4,5\n", "3 values in line 4"),
    "a name twice": (b"a,a,b\n1,2,3\n", "two columns named 'a'"),
    "an index of pandas": (b",a,b\n0,1,2\n1,3,4\n", "no name for column 1"),
    "semicolons": (b"a;b\n1;2\n", "uses semicolons as separators"),
    "tabs": (b"a\tb\n1\t2\n", "uses tabs as separators"),
    "thousands in an input": (b'a,b\n"1,234",0\n"2,345",1\n', "'1,234' in line 2"),
    "thousands in the target": (b'a,b\n1,"1,234"\n2,"2,345"\n', "target 'b' contains numbers"),
    "text in a target of numbers": (b"a,b\n1,1\n2,2\n3,x\n4,1\n", "'x' in line 4 is not a number"),
    "text in an input": (b"a,b\n1,0\nx,1\n", "'x' in line 3"),
    "NA": (b"a,b\n1,0\nNA,1\n", "has 'NA' in line 3, column 'a'"),
    "an empty cell": (b"a,b\n1,0\n\n,1\n", "an empty cell in line 4, column 'a'"),
    "Latin-1": ("a,b\n1,é\n".encode("latin-1"), "not text in UTF-8"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), "in UTF-16"),
    "a spreadsheet": (b"PK\x03\x04abc", "a zip archive or spreadsheet"),
    "gzip": (b"\x1f\x8b\x08\x00", "compressed with gzip"),
    "NUL": (b"a,b\n1,2\n\x00,4\n", "NUL character in line 3"),
    "an open quote": (b'a,b\n1,"2\n3,4\n', "not a readable .csv file"),
    "names alone": (b"a,b\n", "is empty"),
    "nothing": (b"", "is empty"),
    "blank lines": (b"\n\n\n", "is empty"),
    "times in seconds": (b"a,b\n1700000001,0\n1700000002,1\n", "become equal in float32"),
    "over float32": (b"a,b\n1e39,0\n1,1\n", "infinity in row 0"),
    "over int64": (b"a,b\n1,18446744073709551615\n2,1\n", "int64 cannot represent"),
}


@pytest.mark.parametrize("name", BAD_CSV)
def test_bad_csv(tmp_path: Path, name: str) -> None:
    content, message = BAD_CSV[name]
    (tmp_path / "t.csv").write_bytes(content)
    refused(message, tmp_path / "t.csv", "b")


def test_csv_as_spreadsheets_write_it(tmp_path: Path) -> None:
    path = tmp_path / "T.CSV"
    path.write_bytes(b'\xef\xbb\xbfa,b\r\n1,"x, or\r\ny"\r\n\r\n2.5,z\r\n')
    data = load_dataset(path, "b", test_fraction=0)
    assert data.train.inputs[0].tolist() == [[1], [2.5]]
    assert data.classes == ("x, or\r\ny", "z")


# .npz


def npz(*members: tuple[str, bytes]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(header: str) -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def huge(shape: str) -> bytes:
    return npy(f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}")


BAD_NPZ = {
    "a huge shape": (npz(("x.npy", huge("(10000000000000,)"))), "does not match"),
    "a shape beyond int64": (npz(("x.npy", huge("(99999999999999999999, 9)"))), "does not match"),
    "a negative shape": (npz(("x.npy", huge("(-4,)"))), "not a readable .npz|does not match"),
    "a header of code": (npz(("x.npy", npy("__import__('os').abort()"))), "not a readable .npz"),
    "text": (npz(("x.npy", b"1, 2, 3")), "not a readable .npz"),
    "nothing inside": (npz(("x.npy", b"")), "not a readable .npz"),
}


@pytest.mark.parametrize("name", BAD_NPZ)
def test_bad_npz(tmp_path: Path, name: str) -> None:
    content, message = BAD_NPZ[name]
    (tmp_path / "t.npz").write_bytes(content)
    refused(message, tmp_path / "t.npz")


def test_an_archive_larger_than_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import psutil

    np.savez_compressed(tmp_path / "t.npz", x=np.zeros((1000, 1000)), y=np.zeros(1000))
    memory = psutil.virtual_memory()._replace(available=1_000_000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    refused("needs 0.0 GB", tmp_path / "t.npz")


@pytest.mark.parametrize("step", [37])
def test_an_archive_cut_or_changed_anywhere(tmp_path: Path, step: int) -> None:
    np.savez(tmp_path / "whole.npz", x=X, y=Y)
    whole, path = (tmp_path / "whole.npz").read_bytes(), tmp_path / "t.npz"
    for place in range(0, len(whole), step):
        for content in (whole[:place], whole[:place] + b"\xff" + whole[place + 1 :]):
            path.write_bytes(content)
            with suppress(DataError):  # any other error is a traceback to the user
                load_dataset(path)


# Arrays


@pytest.mark.parametrize(
    ("inputs", "target", "settings", "message"),
    [
        (X, np.full(20, 2**63, np.uint64), {}, "int64 cannot represent"),
        (np.full((20, 2), 2**64 - 1, np.uint64), Y, {}, "input 0 contains 18446744073709551615"),
        (X, Y + 0.5, {"target_dtype": "int64"}, "contains 0.5 in row 0, which is not an integer"),
        (X, np.full(20, np.nan), {"target_dtype": "int64"}, "NaN in row 0"),
        (X, np.full(20, 1e300), {"target_dtype": "int64"}, "not an integer"),
        (X, np.full(20, 1e300), {}, "infinity in row 0"),
        (X, 2**40 + np.arange(20), {"target_dtype": "float32"}, "become equal in float32"),
        (X, 1.7e9 + np.arange(20) / 100, {}, "all become equal in float32"),
        (X, Y.astype(complex), {}, "dtype complex128"),
        (X, Y.astype("datetime64[s]"), {}, "dtype datetime64"),
        (X, Y.astype(object), {}, "dtype object"),
        (X, [[1], [2, 3]], {}, "ragged"),
        (X, Y, {"target_dtype": "int8"}, "choose 'float32' or 'int64'"),
        (X, Y, {"classes": "abc"}, "a tuple of strings"),
        (X, Y, {"classes": ("a", "a", "b")}, "must be unique"),
        *((X, Y, {"seed": seed}, "seed=") for seed in ("1", -1, 1.5, True, None, float("nan"))),
        *(
            (X, Y, {"test_fraction": fraction}, "test_fraction=")
            for fraction in ("0.2", -0.1, 1, True, None, float("nan"), 0.99)
        ),
        *(
            (X, Y, {"image_size": size}, "image_size=")
            for size in (
                "8x8",
                8,
                (8,),
                (8, 8, 8),
                (0, 8),
                (-1, 8),
                (8.0, 8),
                (True, 8),
                (8, 10**9),
            )
        ),
        *((X, Y, {"name": name}, "name=") for name in ("", "a\0b", "a\nb", "x" * 300, 3)),
    ],
)
def test_bad_arrays_and_settings(
    inputs: Any, target: Any, settings: dict[str, Any], message: str
) -> None:
    refused(message, inputs, target, **settings)


@pytest.mark.parametrize("seed", ["1", -1, 1.5, True, None])
def test_bad_settings_of_a_sample(seed: Any) -> None:
    refused("seed=", "digits", seed=seed)
    with pytest.raises(ModelError, match="seed="):
        load_model("digits-mlp", seed=seed)


# Images


def test_pictures_of_16_bits_are_scaled_by_their_depth(tmp_path: Path) -> None:
    for index in range(4):
        (tmp_path / f"class{index}").mkdir()
        values = np.array([[0, 65535], [256, 32768]], np.uint16)
        Image.fromarray(values).save(tmp_path / f"class{index}" / "1.png")
    data = load_dataset(tmp_path, test_fraction=0)
    expected = np.array([[0, 1], [256 / 65535, 32768 / 65535]], np.float32)
    difference = np.abs(data.train.inputs[0][0, 0] - expected).max()
    assert difference < 1e-7, f"{difference:.1e}"
    resized = load_dataset(tmp_path, test_fraction=0, image_size=(1, 1)).train.inputs[0]
    assert abs(resized[0].item() - expected.mean()) < 1e-3
    Image.fromarray(np.zeros((2, 2), np.uint8)).save(tmp_path / "class3" / "1.png")
    refused(r"class3/1\.png has 8 bits per value but .*class0/1\.png has 16", tmp_path)


@pytest.mark.parametrize(
    ("dtype", "what"), [(np.float32, "floating-point"), (np.int32, "32-bit or signed")]
)
def test_pictures_without_a_range_are_refused(tmp_path: Path, dtype: type, what: str) -> None:
    (tmp_path / "a").mkdir()
    Image.fromarray(np.ones((2, 2), dtype)).save(tmp_path / "a" / "1.tif")
    refused(rf"1\.tif has {what} values", tmp_path)


@pytest.mark.parametrize("kind", ["png", "gif", "bmp", "tif", "webp", "jpg"])
def test_a_picture_cut_or_changed_anywhere(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a").mkdir()
    path = tmp_path / "a" / f"1.{kind}"
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8)).save(path)
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 12)):
        for content in (whole[:place], whole[:place] + b"\xff" + whole[place + 1 :]):
            path.write_bytes(content)
            with suppress(DataError):  # any other error is a traceback to the user
                load_dataset(tmp_path, test_fraction=0)


# Paths


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".onnx", ".safetensors", ".pt"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder", "circle", "long", "NUL"])
def test_only_regular_files_are_opened(tmp_path: Path, suffix: str, kind: str) -> None:
    path = tmp_path / f"it{suffix}"
    listener = socket.socket(socket.AF_UNIX)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            listener.bind(str(path))
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case "circle":
            path.symlink_to(path)
        case "long":
            path = tmp_path / ("x" * 300 + suffix)
        case "NUL":
            path = tmp_path / f"a\0b{suffix}"
    for load, arguments in ((load_dataset, {"target": "b"}), (load_model, {})):
        for source in (path, str(path)):
            with pytest.raises((DataError, ModelError)) as caught:
                load(source, **arguments)  # type: ignore[operator]
            assert "\n" not in str(caught.value)
    if suffix in (".safetensors", ".pt"):
        with pytest.raises(ModelError):
            load_model("digits-mlp", weights=path)
    listener.close()


def test_a_pipe_among_images(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a" / "1.png")
    refused(r"1\.png is a pipe", tmp_path)


@pytest.mark.parametrize("source", ["", " ", "\0", "x" * 5000, "a\nb"])
def test_a_name_that_names_nothing(source: str) -> None:
    refused(".", source)
    with pytest.raises(ModelError) as caught:
        load_model(source)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("source", ["https://example.com/a.onnx", "s3://rows/a.npz", "HTTP://a/"])
def test_a_url_is_shown_as_it_was_typed(source: str) -> None:
    refused(f"'{source}' is a URL, not a file here: download it first", source)
    with pytest.raises(ModelError, match=f"'{source}' is a URL, not a file here"):
        load_model(source)


def test_a_folder_called_as_a_sample_is_not_in_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits-mlp").mkdir()
    assert load_model("digits-mlp").name == "digits-mlp"
