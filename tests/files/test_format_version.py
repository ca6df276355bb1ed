"""A record of a newer format is refused; one of this or an older format is read."""

from __future__ import annotations

import pytest

from workbench.errors import RunFolderError
from workbench.files.format_version import refuse_newer_format


@pytest.mark.parametrize("found", [1, 2])
def test_supported_versions_are_read(found: int) -> None:
    refuse_newer_format(found, 2, "Run 7", RunFolderError, " to open it")


@pytest.mark.fault
def test_a_newer_format_is_refused_with_both_versions() -> None:
    expected = (
        r"^Run 7 was written by a newer workbench \(format 3; this version supports up to 2\)\. "
        r"Upgrade the workbench to open it\.$"
    )
    with pytest.raises(RunFolderError, match=expected):
        refuse_newer_format(3, 2, "Run 7", RunFolderError, " to open it")
