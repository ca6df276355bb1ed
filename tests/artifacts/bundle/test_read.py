"""Bundles that are opened: whole, truncated, changed, and made to do harm."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.artifacts import Artifacts, open_bundle
from workbench.artifacts.bundle import read
from workbench.errors import ArtifactsError, ConfigError

Entries = dict[str, bytes]


@pytest.fixture(scope="session")
def entries(classifier_bundle: Path) -> Entries:
    with zipfile.ZipFile(classifier_bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, entries: Entries, *more: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in [*entries.items(), *more]:
            archive.writestr(name, content)
    return path


def listed(entries: Entries, change: Callable[[dict[str, Any]], None]) -> Entries:
    """The entries with another bundle.json."""
    manifest = json.loads(entries["bundle.json"])
    change(manifest)
    return {**entries, "bundle.json": json.dumps(manifest).encode()}


def tree(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def refused(path: Path, tmp_path: Path, match: str) -> None:
    """`path` is refused in one sentence or two, and nothing is written anywhere."""
    target = tmp_path / "inside" / "target"
    target.parent.mkdir()
    before = tree(tmp_path)
    with pytest.raises(ArtifactsError, match=match) as caught:
        open_bundle(path, target)
    assert "\n" not in str(caught.value)
    assert tree(tmp_path) == before


def test_a_bundle_is_unpacked_into_a_given_folder(classifier_bundle: Path, tmp_path: Path) -> None:
    artifacts = open_bundle(classifier_bundle, tmp_path / "device")
    assert artifacts.directory == tmp_path / "device" / "artifacts"
    assert artifacts.manifest["model"] == "digits-cnn"
    assert (tmp_path / "device" / "python" / "train.py").is_file()
    with pytest.raises(ArtifactsError, match="is not empty"):
        open_bundle(classifier_bundle, tmp_path / "device")


def test_artifacts_load_from_a_bundle(classifier_bundle: Path, workbench_home: Path) -> None:
    artifacts = Artifacts.load(classifier_bundle)
    assert workbench_home in artifacts.directory.parents
    artifacts.checkpoint.write_bytes(b"changed")
    # The zip is unchanged, so what was unpacked of it is made again.
    again = Artifacts.load(classifier_bundle)
    assert again.directory == artifacts.directory
    assert again.checkpoint.read_bytes() != b"changed"
    assert len(list((workbench_home / "bundles").iterdir())) == 1


def test_a_bundle_has_no_graph_descriptions_and_no_graph_that_needs_a_library(
    entries: Entries, cnn_artifacts: Artifacts, classifier_bundle: Path, tmp_path: Path
) -> None:
    names = {name.removeprefix("artifacts/") for name in entries if name.startswith("artifacts/")}
    left_out = {"provenance.json", "forward_model.onnx", "training_model.device_kernels.onnx"}
    assert names == {*cnn_artifacts.manifest["files"], "manifest.json"} - left_out
    opened = open_bundle(classifier_bundle, tmp_path / "device")
    assert opened.forward_model is None
    assert opened.manifest["files"].keys() == names - {"manifest.json"}


def test_bundle_json_has_the_hash_of_every_other_file(entries: Entries) -> None:
    files = json.loads(entries["bundle.json"])["files"]
    assert files.keys() == entries.keys() - {"bundle.json"}
    for name, record in files.items():
        assert record["sha256"] == hashlib.sha256(entries[name]).hexdigest()
        assert record["bytes"] == len(entries[name])


def test_the_same_artifacts_give_the_same_bytes(
    classifier_bundle: Path, cnn_artifacts: Artifacts, tmp_path: Path
) -> None:
    again = cnn_artifacts.bundle(tmp_path / "again.zip", data="digits")
    assert again.read_bytes() == classifier_bundle.read_bytes()


@pytest.mark.fault
@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("../outside", "leaves the folder"),
        ("artifacts/../../outside", "leaves the folder"),
        ("/outside", "absolute path"),
        ("\\outside", "absolute path"),
        ("C:/outside", "drive"),
        ("notes.txt:stream", "drive or a stream"),
        ("artifacts\\..\\..\\outside", "character that is not allowed"),
        ("a\nb", "character that is not allowed"),
        ("a//b", "not a plain relative path"),
        ("./a", "not a plain relative path"),
        ("a./b", "not a plain relative path"),
        ("x" * 200, "not a plain relative path"),
        ("README.md", "twice"),
        ("readme.MD", "twice"),
        ("more.txt", "does not list it"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_of_this_name_is_refused(
    name: str, match: str, entries: Entries, tmp_path: Path
) -> None:
    refused(write(tmp_path / "bad.zip", entries, (name, b"x")), tmp_path, match)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("kind", "match"), [(stat.S_IFLNK, "symbolic link"), (stat.S_IFIFO, "neither a file")]
)
def test_an_entry_of_this_kind_is_refused(
    kind: int, match: str, entries: Entries, tmp_path: Path
) -> None:
    entry = zipfile.ZipInfo("link")
    entry.create_system = 3
    entry.external_attr = (kind | 0o777) << 16
    refused(write(tmp_path / "bad.zip", entries, (entry, b"/etc/passwd")), tmp_path, match)


@pytest.mark.fault
def test_a_bundle_that_unpacks_to_far_more_is_refused(entries: Entries, tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    content = bytes(read.SMALL_BYTES)

    def add(manifest: dict[str, Any]) -> None:
        record = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        manifest["files"]["sample/zeros.bin"] = record

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in listed(entries, add).items():
            archive.writestr(name, value)
        archive.writestr("sample/zeros.bin", content)
    refused(path, tmp_path, "would unpack to")


@pytest.mark.fault
def test_thousands_of_entries_are_refused(tmp_path: Path) -> None:
    many = {f"{index}": b"" for index in range(read.MOST_ENTRIES + 1)}
    refused(write(tmp_path / "many.zip", many), tmp_path, "entries, but a bundle has at most")


def _claim(**record: Any) -> Callable[[dict[str, Any]], None]:
    return lambda manifest: manifest["files"]["artifacts/checkpoint"].update(record)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (_claim(sha256="0" * 64), "artifacts/checkpoint in .* was changed"),
        (_claim(bytes=3), "but bundle.json says 3"),
        (lambda manifest: manifest["files"].pop("README.md"), "does not list it"),
        (lambda manifest: manifest["files"].update(x={"bytes": 0, "sha256": ""}), "lacks 'x'"),
        (lambda manifest: manifest.update(format=99), "newer workbench"),
        (lambda manifest: manifest.update(kind="other"), "not the manifest of a bundle"),
        (lambda manifest: manifest.update(files=[]), "not the manifest of a bundle"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(
    change: Callable[[dict[str, Any]], None], match: str, entries: Entries, tmp_path: Path
) -> None:
    refused(write(tmp_path / "bad.zip", listed(entries, change)), tmp_path, match)


@pytest.mark.fault
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000])
def test_a_manifest_that_is_not_json_is_refused(
    content: bytes, entries: Entries, tmp_path: Path
) -> None:
    path = write(tmp_path / "bad.zip", {**entries, "bundle.json": content})
    refused(path, tmp_path, "not the manifest of a bundle")


@pytest.mark.fault
def test_a_zip_of_something_else_is_refused(tmp_path: Path) -> None:
    refused(write(tmp_path / "other.zip", {"a.txt": b"x"}), tmp_path, "bundle.json is missing")


@pytest.mark.fault
def test_artifacts_that_contradict_their_own_manifest_are_refused(
    entries: Entries, tmp_path: Path
) -> None:
    """The hashes of bundle.json are right, those of artifacts/manifest.json are not."""
    content = entries["artifacts/checkpoint"] + b"more"
    digest = hashlib.sha256(content).hexdigest()
    changed = listed(entries, _claim(bytes=len(content), sha256=digest))
    path = write(tmp_path / "bad.zip", {**changed, "artifacts/checkpoint": content})
    refused(path, tmp_path, "checkpoint was changed")


@pytest.mark.fault
def test_a_bundle_truncated_anywhere_is_refused(classifier_bundle: Path, tmp_path: Path) -> None:
    whole = classifier_bundle.read_bytes()
    size = len(whole)
    places = {*range(0, size, size // 60), *range(max(0, size - 200), size)}
    path = tmp_path / "truncated.zip"
    for place in sorted(places):
        path.write_bytes(whole[:place])
        with pytest.raises(ArtifactsError, match="truncated or was changed"):
            open_bundle(path, tmp_path / "target")
        assert not (tmp_path / "target").exists()


@pytest.mark.fault
def test_a_changed_byte_is_refused_or_harmless(classifier_bundle: Path, tmp_path: Path) -> None:
    """A byte of the zip's own records, such as a date, may change nothing of the content."""
    whole = classifier_bundle.read_bytes()
    size = len(whole)
    path, refusals = tmp_path / "changed.zip", 0
    places = {*range(5, size, size // 50), *range(size - 1200, size, 7)}
    for place in sorted(places):
        changed = bytearray(whole)
        changed[place] ^= 0x41
        path.write_bytes(changed)
        target = tmp_path / f"target-{place}"
        try:
            opened = open_bundle(path, target)
        except ArtifactsError:
            refusals += 1
            assert not target.exists()
        else:
            # Every hash was checked.
            assert opened.manifest["model"] == "digits-cnn"
    assert refusals > len(places) // 2


@pytest.mark.fault
def test_a_folder_or_nothing_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(ArtifactsError, match="is a folder, not a file"):
        open_bundle(tmp_path)
    with pytest.raises(ArtifactsError, match="does not exist"):
        open_bundle(tmp_path / "missing.zip")


@pytest.mark.fault
@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"rows": 0}, "rows=0 is below the smallest batch"),
        ({"rows": 10**6}, "has 1437 training rows|training rows, but the sample takes"),
        ({"data": "breast-cancer"}, "The artifacts take 'image'"),
        ({"learning_rate": 1e6}, "do not lower its loss"),
    ],
)
def test_a_bundle_that_would_not_train_is_not_written(
    arguments: dict[str, Any], match: str, cnn_artifacts: Artifacts, tmp_path: Path
) -> None:
    data = wb.load_dataset(arguments.pop("data", "digits"))
    with pytest.raises(ArtifactsError, match=match):
        cnn_artifacts.bundle(tmp_path / "bad.zip", data=data, **arguments)
    assert not list(tmp_path.glob("*.zip"))


@pytest.mark.fault
def test_arguments_of_a_wrong_type_are_listed(cnn_artifacts: Artifacts, tmp_path: Path) -> None:
    wrong: Any = {"data": 5, "rows": "8", "learning_rate": float("nan")}
    with pytest.raises(ConfigError) as caught:
        cnn_artifacts.bundle(tmp_path / "bad.zip", **wrong)
    assert [problem.partition("=")[0] for problem in caught.value.problems] == [*wrong]
    with pytest.raises(ArtifactsError, match=r"is a folder: give the \.zip file to write"):
        cnn_artifacts.bundle(tmp_path)
    with pytest.raises(ArtifactsError, match="3 is not the path of a file to write"):
        cnn_artifacts.bundle(3)  # type: ignore[arg-type]
