"""The built front end: whole, self-contained, and missed with a reason."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from workbench.errors import WorkbenchError
from workbench.widgets import bundle as module
from workbench.widgets.bundle import STATIC, bundle

BUNDLES = sorted(path.name for path in STATIC.glob("*.js"))


def test_there_is_a_bundle_for_each_widget_class() -> None:
    folder = Path(module.__file__).parent
    named = {
        name
        for path in folder.rglob("*.py")
        for name in re.findall(r'bundle\("(\w+\.js)"\)', path.read_text(encoding="utf-8"))
    }
    assert named == set(BUNDLES)


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_fetches_nothing(name: str) -> None:
    text = bundle(name)
    # The namespace of SVG is a name that looks like an address.
    text = text.replace("http://www.w3.org/2000/svg", "")
    # The page's own server is asked whether the notebook's file has changed.
    text = re.sub(r"\bfetch\(`\$\{\w+\}api/contents/", "", text)
    assert not re.findall(r"https?://[^\s\"'`]+", text)
    assert not re.search(r"\bimport\s*\(|\bfetch\(|XMLHttpRequest|\bfrom\s*[\"']", text)


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.css")), ids=lambda path: path.name)
def test_a_style_sheet_fetches_nothing(path: Path) -> None:
    assert not re.search(r"@import|url\(", path.read_text(encoding="utf-8"))


def test_a_page_loads_in_little_time_over_a_slow_line() -> None:
    """All of it, as a server compresses it."""
    parts = [*STATIC.glob("*.js"), *STATIC.glob("*.css")]
    packed = sum(len(gzip.compress(part.read_bytes(), 6)) for part in parts)
    assert packed < 600_000


def test_the_licences_of_bundled_packages_are_included() -> None:
    text = (STATIC / "THIRD_PARTY_LICENSES.txt").read_text(encoding="utf-8")
    assert "uplot" in text
    assert "MIT License" in text


def test_a_missing_bundle_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "STATIC", tmp_path)
    with pytest.raises(WorkbenchError, match=r"not built.*extensions/widgets/build\.py"):
        bundle("charts.js")
