"""Where a compiled extension is kept, and what it is built from."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.extensions.native_extension import (
    DEVICE_KERNELS,
    cache,
    key,
    native_extension,
    sources,
)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache()


def test_it_is_kept_in_the_users_cache_by_versions_and_sources(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import workbench.extensions.native_extension as where

    name = key()
    assert "torch2.13" in name
    assert "ort1.19.2" in name
    assert "cp311" in name or "cp312" in name
    assert native_extension().folder == empty_cache / name
    assert "not built" in native_extension().problem
    assert not empty_cache.exists(), "looking made a folder"
    changed = tmp_path / "other.cpp"
    changed.write_text("int other;\n")
    monkeypatch.setattr(where, "sources", lambda _: [changed])
    assert key() != name
    monkeypatch.setattr(where, "_version", lambda _: "9.9")
    assert "torch9.9" in key()
    assert "torch" not in key(DEVICE_KERNELS)


def test_its_sources_are_there() -> None:
    assert [source.name for source in sources()] == [
        "aten_executor.cpp",
        "kernels.cpp",
        "layers.cpp",
    ]
