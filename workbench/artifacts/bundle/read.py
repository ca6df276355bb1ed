"""Opens a device bundle, which is untrusted: nothing in it is executed."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from workbench.artifacts.artifacts_folder import ArtifactsFolder
from workbench.artifacts.bundle.unpacked import folder_of, note_use, remove_unused
from workbench.artifacts.bundle.write import (
    ARTIFACTS_FOLDER,
    BUNDLE_MANIFEST,
    FORMAT_VERSION,
    KIND,
)
from workbench.errors import ArtifactsError
from workbench.files.disk import disk_errors
from workbench.files.format_version import refuse_newer_format
from workbench.files.input_file import check_file
from workbench.files.output_file import check_folder_place
from workbench.files.temporary_folder import temporary_folder

MOST_ENTRIES = 1000
MANIFEST_BYTES = 4 << 20
"""Largest bundle.json."""
SMALL_BYTES = 64 << 20
"""Content up to this size is unpacked at any compression ratio."""
RATIO = 100
"""Above that, content is at most this many times as large as the zip: float32 hardly compresses."""

_BLOCK = 1 << 20


class _File(BaseModel):
    bytes: int
    sha256: str


class _Manifest(BaseModel):
    kind: str
    format: int
    description: dict[str, Any]
    files: dict[str, _File]


def unpack_bundle(path: Path, directory: Path | None) -> ArtifactsFolder:
    """Unpack a bundle and read its artifacts; see `open_bundle`."""
    path = check_file(path, ArtifactsError)
    if directory is None:
        target = folder_of(path)
        remove_unused()
        if target.is_dir():
            try:
                artifacts = ArtifactsFolder.read(target / ARTIFACTS_FOLDER)
            except ArtifactsError:
                # Its files were changed since; the zip has them unchanged.
                shutil.rmtree(target)
            else:
                note_use(target)
                return artifacts
    else:
        target = directory.absolute()
        check_folder_place(target, ArtifactsError)
        if target.exists() and any(target.iterdir()):
            raise ArtifactsError(
                f"{target} is not empty, so the bundle is not unpacked there. Use another folder."
            )
    with _archive(path) as archive:
        entries = _checked_entries(archive, path)
        manifest = _manifest(archive, entries, path)
        _check_sizes(entries, manifest, path)
        with disk_errors(target, ArtifactsError):
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary_folder(target, ArtifactsError) as temporary:
                content = temporary / "content"
                content.mkdir()
                for name, expected in manifest.files.items():
                    _unpack(archive, entries[name], expected, content / name, path)
                (content / BUNDLE_MANIFEST).write_bytes(archive.read(entries[BUNDLE_MANIFEST]))
                ArtifactsFolder.read(content / ARTIFACTS_FOLDER)
                if target.exists():
                    target.rmdir()
                os.replace(content, target)
    return ArtifactsFolder.read(target / ARTIFACTS_FOLDER)


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """The open zip; all errors of the standard library for a corrupt one become one error."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except ArtifactsError:
        raise
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        zlib.error,
        OSError,
        EOFError,
        NotImplementedError,
        RuntimeError,
        UnicodeDecodeError,
        ValueError,
    ) as error:
        raise ArtifactsError(
            f"{path} is not a readable bundle: {str(error) or type(error).__name__}. It is "
            "truncated or was changed; copy or make it again."
        ) from None


def _checked_entries(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """The entries by name; every name and file type is validated."""
    infos = archive.infolist()
    if len(infos) > MOST_ENTRIES:
        raise ArtifactsError(
            f"{path} has {len(infos)} entries, but a bundle has at most {MOST_ENTRIES}."
        )
    entries: dict[str, zipfile.ZipInfo] = {}
    folded: set[str] = set()
    for info in infos:
        # `orig_filename`: the library cuts a name at a NUL, and changes the separators.
        name = info.orig_filename
        problem = _name_problem(name) or _kind_problem(info)
        if problem:
            raise ArtifactsError(
                f"{path} has the entry {name[:200]!r}, which {problem}. No bundle of the workbench "
                "has such an entry, so nothing was unpacked."
            )
        # The library seeks there, and a negative one is an OSError.
        if not 0 <= info.header_offset < path.stat().st_size:
            raise zipfile.BadZipFile(f"the offset of {name!r} is outside the file")
        if info.is_dir():
            continue
        # Folders of some systems are not case-sensitive.
        if name.casefold() in folded:
            raise ArtifactsError(f"{path} has the entry {name!r} twice; nothing was unpacked.")
        folded.add(name.casefold())
        entries[name] = info
    return entries


def _name_problem(name: str) -> str:
    parts = name.removesuffix("/").split("/")
    if name.startswith(("/", "\\")):
        return "is an absolute path"
    if ":" in name:
        return "names a drive or a stream"
    if "\\" in name or any(not letter.isprintable() for letter in name):
        return "has a character that is not allowed in a name"
    if ".." in parts:
        return "leaves the folder"
    if any(part in {"", "."} or part.endswith((".", " ")) or len(part) > 120 for part in parts):
        return "is not a plain relative path"
    return ""


def _kind_problem(info: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "is a symbolic link"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is neither a file nor a folder"
    if info.flag_bits & 1:
        return "is encrypted"
    return ""


def _manifest(
    archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo], path: Path
) -> _Manifest:
    entry = entries.get(BUNDLE_MANIFEST)
    if entry is None:
        raise ArtifactsError(
            f"{path} is not a device bundle: {BUNDLE_MANIFEST} is missing. Make one with "
            "artifacts.bundle(path)."
        )
    if entry.file_size > MANIFEST_BYTES:
        raise ArtifactsError(
            f"{BUNDLE_MANIFEST} in {path} has {entry.file_size} bytes; at most {MANIFEST_BYTES} "
            "are read."
        )
    try:
        record = json.loads(archive.read(entry))
        kind = record.get("kind") if isinstance(record, dict) else None
        version = record.get("format") if kind == KIND else None
        if isinstance(version, int):
            refuse_newer_format(version, FORMAT_VERSION, str(path), ArtifactsError, "")
        manifest = _Manifest.model_validate(record)
    except (ValidationError, RecursionError, UnicodeDecodeError, json.JSONDecodeError):
        raise ArtifactsError(
            f"{BUNDLE_MANIFEST} in {path} is not the manifest of a bundle. Make the bundle again."
        ) from None
    if manifest.kind != KIND:
        raise ArtifactsError(f"{BUNDLE_MANIFEST} in {path} is not the manifest of a bundle.")
    return manifest


def _check_sizes(entries: dict[str, zipfile.ZipInfo], manifest: _Manifest, path: Path) -> None:
    listed = {*manifest.files, BUNDLE_MANIFEST}
    missing, extra = sorted(listed - entries.keys()), sorted(entries.keys() - listed)
    if missing or extra:
        what = f"lacks {missing[0]!r}" if missing else f"has {extra[0]!r}"
        which = "lists it" if missing else "does not list it"
        raise ArtifactsError(
            f"{path} {what}, but {BUNDLE_MANIFEST} {which}. It was changed; make it again."
        )
    for name, expected in manifest.files.items():
        if entries[name].file_size != expected.bytes:
            raise ArtifactsError(
                f"{name} in {path} has {entries[name].file_size} bytes, but {BUNDLE_MANIFEST} says "
                f"{expected.bytes}. It was changed; make it again."
            )
    total = sum(entry.file_size for entry in entries.values())
    packed = path.stat().st_size
    if total > max(SMALL_BYTES, RATIO * packed):
        raise ArtifactsError(
            f"{path} would unpack to {total} bytes, more than {RATIO} times its {packed}. No "
            "bundle of the workbench does, so nothing was unpacked."
        )


def _unpack(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, expected: _File, target: Path, path: Path
) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with archive.open(entry) as source, target.open("xb") as file:
        while block := source.read(_BLOCK):
            size += len(block)
            if size > expected.bytes:
                break
            digest.update(block)
            file.write(block)
    if size != expected.bytes or digest.hexdigest() != expected.sha256:
        raise ArtifactsError(
            f"{entry.filename} in {path} was changed: its SHA-256 differs from the one in "
            f"{BUNDLE_MANIFEST}. Make the bundle again."
        )
