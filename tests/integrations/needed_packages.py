"""Which packages a case of the frameworks needs, and how they are installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

_FRAMEWORKS = {"trainer": "huggingface", "script": "huggingface"}
"""By the first word of a case, where it is not that."""

_PACKAGES = {
    "huggingface": ("transformers", "accelerate", "peft"),
    "accelerate": ("transformers", "accelerate"),
    "lightning": ("lightning",),
    "deepspeed": ("deepspeed",),
}
_EXTRAS = {"huggingface": "hf", "accelerate": "hf"}
"""Of the frameworks whose extra has another name."""


def framework_of(case: str) -> str:
    """That trains a case, by its name."""
    first = case.partition("-")[0]
    return _FRAMEWORKS.get(first, first)


def why_missing(case: str) -> str:
    """Which packages of a case are missing, and how to install them; empty if none is."""
    frameworks = {framework_of(case), *(["deepspeed"] if case.endswith("-deepspeed") else [])}
    for framework in sorted(frameworks):
        missing = [name for name in _PACKAGES[framework] if find_spec(name) is None]
        if missing:
            extra = _EXTRAS.get(framework, framework)
            return f"{', '.join(missing)} missing: pip install -e '.[{extra}]'"
    return ""


def needs(case: str) -> pytest.MarkDecorator:
    """Skips a test where a package of its case is missing, and says which."""
    reason = why_missing(case)
    return pytest.mark.skipif(bool(reason), reason=reason or "all are there")
