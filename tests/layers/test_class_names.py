"""A class name means one thing in the whole package."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "workbench"

CLASS = re.compile(r"^\s*class (\w+)[(:]", re.MULTILINE)

SAME = {"ORTModule"}
"""The drop-in package's has the name and signature that onnxruntime-training gives it."""


def test_no_two_classes_have_the_same_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        for name in CLASS.findall(file.read_text("utf-8")):
            places[name].append(str(file.relative_to(PACKAGE)))
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert shared.keys() == SAME, shared
