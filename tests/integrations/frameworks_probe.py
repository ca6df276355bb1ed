"""Trains small models by Hugging Face, Accelerate, Lightning and DeepSpeed, with ORTModule.

    python -m tests.integrations.frameworks_probe RESULT_JSON NAME ...

loads the frameworks of the named cases alone.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.answers import write_answers
from tests.integrations.needed_packages import framework_of


def case_of(name: str, folder: Path) -> Callable[[], Any]:
    module = import_module(f"tests.integrations.{framework_of(name)}_cases")
    if framework_of(name) == "deepspeed":
        module.join_alone()
    found: Callable[[], Any] = module.cases(folder)[name]
    return found


if __name__ == "__main__":
    # Those of the frameworks about their own settings are not ours to fail on.
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1]).parent
    # Loaded one after the other, when it is needed: DeepSpeed, for one, is a process group.
    write_answers({name: lambda name=name: case_of(name, folder)() for name in sys.argv[2:]})
