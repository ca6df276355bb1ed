"""Entries are taken whole and unchanged or not at all, and nothing that is wrong fails a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.export_cache import cache as cache_module
from workbench.export_cache.cache import RECORD, ExportCache
from workbench.export_cache.code_used import CodeUsed

KEY, OTHER = "ab" * 32, "cd" * 32
CONTENT = {"model.onnx": b"graph" * 100, "constants.safetensors": b"", "manifest.json": b"{}"}


class Place:
    """A cache in a folder of the test, and what it told."""

    def __init__(self, folder: Path) -> None:
        self.said: list[str] = []
        self.folder = folder
        made = ExportCache.of_user(self.said.append)
        assert made is not None
        self.cache = made

    def files(self, name: str, content: dict[str, bytes] | None = None) -> Path:
        """A new folder of files."""
        made = self.folder / name
        made.mkdir()
        for file, data in (content or {}).items():
            (made / file).write_bytes(data)
        return made

    def store(self, key: str = KEY, content: dict[str, bytes] = CONTENT) -> Path:
        """Store an entry; its folder."""
        source = self.files(f"source-{time.monotonic_ns()}", content)
        self.cache.store(key, source, CodeUsed())
        return self.cache.folder / key

    def taken(self, key: str = KEY) -> dict[str, bytes] | None:
        """The cached folder, or None; then nothing is left in the cache."""
        target = self.files(f"target-{time.monotonic_ns()}")
        found = self.cache.take(key, target)
        content = {path.name: path.read_bytes() for path in target.iterdir()}
        assert found or content == {}
        return content if found else None


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    return Place(tmp_path)


def test_stored_files_are_reused(place: Place) -> None:
    assert place.taken() is None
    entry = place.store()
    assert place.taken() == CONTENT
    assert place.taken(OTHER) is None
    assert entry.stat().st_mode & 0o077 == 0
    place.store(content={"other": b"newer"})
    assert place.taken() == {"other": b"newer"}
    assert place.said == []
    assert {path.name for path in place.cache.folder.iterdir()} <= {KEY, "locks"}


def remove(entry: Path) -> None:
    (entry / "model.onnx").unlink()


def truncate(entry: Path) -> None:
    os.truncate(entry / "model.onnx", 100)


def lengthen(entry: Path) -> None:
    with (entry / "model.onnx").open("ab") as file:
        file.write(b"more")


def flip(entry: Path) -> None:
    content = bytearray((entry / "model.onnx").read_bytes())
    content[7] ^= 1
    (entry / "model.onnx").write_bytes(content)


def link(entry: Path) -> None:
    real = entry.parent.parent / "elsewhere"
    (entry / "model.onnx").rename(real)
    (entry / "model.onnx").symlink_to(real)


def pipe(entry: Path) -> None:
    (entry / "model.onnx").unlink()
    os.mkfifo(entry / "model.onnx")


def folder(entry: Path) -> None:
    (entry / "model.onnx").unlink()
    (entry / "model.onnx").mkdir()


def link_entry(entry: Path) -> None:
    real = entry.parent.parent / "elsewhere"
    entry.rename(real)
    entry.symlink_to(real)


def file_as_entry(entry: Path) -> None:
    entry.rename(entry.parent.parent / "elsewhere")
    entry.write_bytes(b"")


def no_record(entry: Path) -> None:
    (entry / RECORD).unlink()


def torn_record(entry: Path) -> None:
    os.truncate(entry / RECORD, 40)


def nested_record(entry: Path) -> None:
    (entry / RECORD).write_text("[" * 100_000)


def binary_record(entry: Path) -> None:
    (entry / RECORD).write_bytes(b"\xff\xfe\x00" * 30)


def edited(change: Callable[[dict[str, object]], None]) -> Callable[[Path], None]:
    def edit(entry: Path) -> None:
        record = json.loads((entry / RECORD).read_text())
        change(record)
        (entry / RECORD).write_text(json.dumps(record))

    return edit


def escape(record: dict[str, object]) -> None:
    files = record["files"]
    assert isinstance(files, dict)
    files["../../secret"] = files["manifest.json"]


@pytest.mark.fault
@pytest.mark.parametrize(
    "damage",
    [
        *(remove, truncate, lengthen, flip, link, pipe, folder),
        *(link_entry, file_as_entry, no_record, torn_record, nested_record, binary_record),
        pytest.param(edited(lambda record: record.update(key=OTHER)), id="another-key"),
        pytest.param(edited(lambda record: record.update(files=7)), id="no-files"),
        pytest.param(edited(lambda record: record.pop("code")), id="no-code"),
        pytest.param(edited(escape), id="outside"),
    ],
)
def test_a_corrupt_entry_is_reported_removed_and_made_again(
    place: Place, damage: Callable[[Path], None]
) -> None:
    (place.folder / "secret").write_bytes(CONTENT["manifest.json"])
    entry = place.store()
    damage(entry)
    assert place.taken() is None
    assert len(place.said) == 1
    assert "is corrupt, so the model is exported again" in place.said[0]
    assert not os.path.lexists(entry)
    place.store()
    assert place.taken() == CONTENT
    assert len(place.said) == 1
    assert (place.folder / "secret").exists()


def test_those_unused_for_longest_make_room(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "LIMIT_BYTES", 3500)
    keys = [letter * 64 for letter in "abc"]
    for age, key in enumerate(keys):
        entry = place.store(key, {"file": bytes(800)})
        os.utime(entry, (1000 + age, 1000 + age))
    assert place.taken(keys[0]) is not None  # which makes it the one used last
    place.store(OTHER, {"file": bytes(800)})
    assert [key for key in keys if place.taken(key) is None] == [keys[1]]
    place.store("e" * 64, {"file": bytes(4000)})
    assert "more than the cache has" in place.said[-1]
    assert place.taken(OTHER) is not None


def test_it_can_be_emptied(place: Place) -> None:
    place.store()
    place.store(OTHER)
    assert place.cache.clear() > 2 * sum(map(len, CONTENT.values()))
    assert place.taken() is None
    assert place.taken(OTHER) is None
    assert place.cache.clear() == 0


def test_clearing_removes_the_files_of_killed_processes(place: Place) -> None:
    place.store()
    left, young = (place.cache.folder / f".{key}.workbench-tmp-x" for key in (KEY, OTHER))
    for folder in (left, young):
        folder.mkdir()
        (folder / "half").write_bytes(bytes(100))
    os.utime(left, (1000, 1000))
    assert place.cache.clear() > 0
    assert not left.exists()
    assert young.exists()


CLEAR = """
from workbench.export_cache.cache import ExportCache
print(ExportCache.of_user(print).clear())
"""


@pytest.mark.fault
def test_files_that_cannot_be_removed_are_not_counted(place: Place) -> None:
    kept, gone = place.store(), place.store(OTHER)
    size_bytes = sum(file.stat().st_size for file in gone.iterdir())
    kept.chmod(0o500)
    try:
        done = run_without_root([sys.executable, "-c", CLEAR])
    finally:
        kept.chmod(0o700)
    assert done.stdout == f"{size_bytes}\n", done.stderr
    assert place.taken() == CONTENT
    assert not gone.exists()


@pytest.mark.fault
def test_a_full_disk_is_reported(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    source = place.files("large", {"file": bytes(1 << 20)})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    try:
        place.cache.store(KEY, source, CodeUsed())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert place.said == [
        "The export is not cached: The file is larger than this process may write; see `ulimit -f`."
    ]
    assert place.taken() is None
    assert not list(place.cache.folder.glob(".*"))


def run_without_root(command: list[str]) -> subprocess.CompletedProcess[str]:
    if os.geteuid() == 0:
        # Root may write anywhere, for as long as it has its capabilities.
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    return subprocess.run(command, capture_output=True, text=True, check=False)


PROGRAM = """
import sys
from pathlib import Path
from workbench.export_cache.cache import ExportCache
from workbench.export_cache.code_used import CodeUsed
source, target, key = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
cache = ExportCache.of_user(lambda text: print("said:", text))
with cache.locked(key):
    print("found:", cache.take(key, target))
    cache.store(key, source, CodeUsed())
"""


@pytest.mark.fault
def test_a_folder_that_cannot_be_written_is_read(place: Place) -> None:
    place.store()
    source, target = place.files("source", CONTENT), place.files("target")
    command = [sys.executable, "-c", PROGRAM, str(source), str(target), KEY]
    locked = (place.cache.folder, place.cache.folder / KEY)
    for path in locked:
        path.chmod(0o500)
    try:
        done = run_without_root(command)
    finally:
        for path in locked:
            path.chmod(0o700)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "found: True"
    assert lines[1].startswith("said: The export is not cached: ")
    assert {path.name: path.read_bytes() for path in target.iterdir()} == CONTENT


HOLDER = """
import sys, time
from workbench.export_cache.cache import ExportCache
cache = ExportCache.of_user(print)
with cache.locked(sys.argv[1]):
    print("locked", flush=True)
    sys.stdin.readline()
"""


def test_one_process_makes_an_entry_while_another_waits(place: Place) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, KEY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with place.cache.locked(OTHER):
            pass
        assert place.said == []

        def let_go(sentence: str) -> None:
            place.said.append(sentence)
            assert holder.stdin is not None
            holder.stdin.write("\n")
            holder.stdin.flush()

        with place.cache._replace(report=let_go).locked(KEY):
            assert place.said == ["waiting for another process that exports"]


def test_a_process_that_is_killed_is_not_waited_for(place: Place) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, KEY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        # What it was making is never stored.
        with place.cache._replace(report=lambda _: holder.kill()).locked(KEY):
            assert holder.wait() < 0


def test_who_makes_one_kind_of_entry_can_wait_for_another(place: Place) -> None:
    with place.cache.locked(KEY), place.cache.locked(KEY, "graph-"):
        assert place.said == []


def test_a_process_that_does_not_end_is_not_waited_for_for_ever(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "LONGEST_WAIT_S", 0.1)
    with place.cache.locked(KEY), place.cache.locked(KEY):
        pass
    assert place.said == ["waiting for another process that exports"]


def test_off_disables_the_cache_and_a_bad_folder_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setenv("WORKBENCH_CACHE", "off")
    assert ExportCache.of_user(said.append) is None
    assert said == []
    (tmp_path / "exports").mkdir(mode=0o700)
    (tmp_path / "exports").chmod(0o777)
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    assert ExportCache.of_user(said.append) is None
    monkeypatch.setenv("WORKBENCH_CACHE", "/proc/nowhere")
    assert ExportCache.of_user(said.append) is None
    assert ["Other users" in said[0], "cannot be used" in said[1], len(said)] == [True, True, 2]
