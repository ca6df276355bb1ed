"""Which test files the processes of pytest-xdist run: each file whole, and some folders."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

TOGETHER = ("tests/browser/", "tests/layers/")
"""Folders whose files share what takes long to make: a JupyterLab with its browser, and the parsed
files of the package."""


class FileOrFolderScheduling(LoadFileScheduling):
    """Gives each file to one process, and all files of a folder in `TOGETHER`."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)
