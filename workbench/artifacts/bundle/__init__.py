"""The device bundle: artifacts, a sample and a program for each binding, in one zip.

bundle.json    description, expected losses, SHA-256 and size of every other file
README.md      names, shapes, how to run, how it was tested
artifacts/     the folder of training artifacts
sample/        a few rows, one file an input or target, row-major and little-endian
python/, ...   one program a language, from `templates/`
"""

from __future__ import annotations

from workbench.artifacts.bundle.read import unpack_bundle
from workbench.artifacts.bundle.write import write_bundle

__all__ = ["unpack_bundle", "write_bundle"]
