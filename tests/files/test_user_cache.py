"""Where the cache lies, and which folders are not trusted."""

from __future__ import annotations

import pwd
from pathlib import Path
from typing import NoReturn

import pytest

from workbench.export_cache.cache import ExportCache
from workbench.files.user_cache import UnusableCacheError, cache_folder, check_cache_folder


def test_the_variable_names_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path))
    assert cache_folder("exports") == tmp_path / "exports"
    monkeypatch.setenv("WORKBENCH_CACHE", "off")
    assert cache_folder("exports") is None


def test_without_it_the_cache_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORKBENCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder("exports") == tmp_path / "onnxruntime-training-workbench" / "exports"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder("exports") == tmp_path / ".cache/onnxruntime-training-workbench/exports"


@pytest.mark.fault
def test_without_a_home_folder_there_is_no_cache_and_the_error_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(_: int) -> NoReturn:
        raise KeyError("uid not found")

    for name in ("WORKBENCH_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(UnusableCacheError, match="name a folder in WORKBENCH_CACHE"):
        cache_folder("exports")
    said: list[str] = []
    assert ExportCache.of_user(said.append) is None
    assert ["no home folder" in sentence for sentence in said] == [True]


def test_a_folder_of_ones_own_will_do(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    check_cache_folder(tmp_path)


@pytest.mark.fault
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to_will_not(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(UnusableCacheError, match="Other users may write"):
        check_cache_folder(tmp_path)


@pytest.mark.fault
def test_a_link_or_a_file_will_not(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").write_text("x")
    for name in ("link", "file"):
        with pytest.raises(UnusableCacheError, match="is not a folder"):
            check_cache_folder(tmp_path / name)
