"""Build hook: bundles the front end of the widgets before the package is built or installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FrontEndBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs for wheels and for editable installs; a source distribution carries the sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        self.app.display_info(f"Front end of the widgets ({version})")
        front_end = load(Path(self.root) / "extensions" / "widgets" / "build.py")
        try:
            front_end.build()
        except front_end.BuildError as error:
            self.app.abort(f"The front end of the widgets could not be built.\n{error}")
        # Git ignores what is built, and the wheel would too.
        build_data["artifacts"].append("workbench/widgets/static/")
        if version == "standard":
            # For `workbench doctor` and `workbench build-extensions`; an editable install finds
            # them in the source tree.
            build_data["force_include"]["constraints.txt"] = "workbench/constraints.txt"
            for sources in ("extensions/torch_interop", "extensions/device_kernels"):
                build_data["force_include"][sources] = f"workbench/{sources}"


def load(path: Path) -> ModuleType:
    """The module at `path`, which is no part of an installed package."""
    spec = importlib.util.spec_from_file_location("widgets_front_end", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
