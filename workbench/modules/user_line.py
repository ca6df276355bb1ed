"""The line of a user's module at which forward or export failed, or from which a node came."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_path
from types import TracebackType

from workbench.modules.error_chain import error_chain

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')

_NOT_THE_USERS = (
    "torch",
    "numpy",
    "onnxscript",
    "onnx_ir",
    "onnx",
    "onnxruntime",
    "workbench",
)


def failing_line(error: BaseException | None) -> str | None:
    """Where in the user's module `error` or its cause arose: file, line, function and code.

    An error of the exporter itself, after the module was traced, is mapped to the line that the
    current operator came from.
    """
    found = None
    for each in error_chain(error):
        found = _line_of(each.__traceback__) or found
    return found


def line_of_trace(trace: str) -> str | None:
    """The innermost line of the user's in a stack trace as text, as "model.py:12"."""
    lines = [(Path(file), number) for file, number, _ in _frames(trace)]
    return f"{lines[-1][0].name}:{lines[-1][1]}" if lines else None


def _line_of(traceback: TracebackType | None) -> str | None:
    found = None
    while traceback is not None:
        code, number = traceback.tb_frame.f_code, traceback.tb_lineno
        if _is_user_code(code.co_filename):
            found = _described(code.co_filename, number, code.co_name)
        # The operator that torch's exporter is translating.
        node = traceback.tb_frame.f_locals.get("node")
        trace = getattr(node, "meta", {}).get("stack_trace") if node is not None else None
        if trace:
            found = next((_described(*frame) for frame in reversed(list(_frames(trace)))), found)
        traceback = traceback.tb_next
    return found


def _frames(trace: str) -> Iterator[tuple[str, int, str]]:
    """File, line and function of the user's frames, from the outermost."""
    for file, number, function in _FRAME.findall(trace):
        if _is_user_code(file):
            yield file, int(number), function


def _described(file: str, number: int, function: str) -> str:
    path = Path(file)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    of_cell = path.parent.name.startswith("ipykernel_")
    where = f"line {number} of its cell" if of_cell else f"{shown}:{number}"
    code = linecache.getline(file, number).strip()
    return f"{where}, in {function}: {code}" if code else f"{where}, in {function}"


def _is_user_code(file: str) -> bool:
    path = Path(file)
    if file.startswith("<") or any(path.is_relative_to(folder) for folder in _folders()):
        return False
    return "site-packages" in path.parts or not path.is_relative_to(get_path("stdlib"))


@cache
def _folders() -> tuple[str, ...]:
    """Folders of the code that traces modules."""
    found = [find_spec(name) for name in _NOT_THE_USERS]
    return tuple(
        folder for spec in found if spec for folder in spec.submodule_search_locations or ()
    )
