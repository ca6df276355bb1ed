"""Bundles that were unpacked in the workbench's home do not stay there for ever."""

from __future__ import annotations

import os
import time
from pathlib import Path

from workbench.artifacts import Artifacts
from workbench.artifacts.bundle.unpacked import UNUSED_S


def test_bundles_unused_for_long_are_removed_from_the_home(
    classifier_bundle: Path, workbench_home: Path
) -> None:
    bundles = workbench_home / "bundles"
    old = bundles / f"old-{'0' * 16}"
    for folder in (old, bundles / f"new-{'1' * 16}", bundles / "mine"):
        folder.mkdir(parents=True)
    long_ago = time.time() - UNUSED_S - 60
    for folder in (old, bundles / "mine"):
        os.utime(folder, (long_ago, long_ago))
    unpacked = Artifacts.load(classifier_bundle).directory.parent
    assert not old.exists()
    assert (bundles / "mine").is_dir(), "it is none of the workbench's"
    assert (bundles / f"new-{'1' * 16}").is_dir()
    some_time_ago = time.time() - UNUSED_S / 2
    os.utime(unpacked, (some_time_ago, some_time_ago))
    Artifacts.load(classifier_bundle)
    assert unpacked.stat().st_mtime > some_time_ago + 60, "its use is recorded"
