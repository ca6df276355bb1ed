"""What is pickled, and what may be unpickled or evaluated."""

from __future__ import annotations

import ast

from tests.layers.imports import broken, called_name, files, imports, nodes
from tests.layers.table import LAYERS, PICKLES, ROOT

CALLS = {"load", "loads", "eval", "exec", "compile", "__import__"}
"""Last parts of the names of functions that unpickle or evaluate, but for those of `runpy`."""


def test_pickle_is_only_read_where_the_caller_just_wrote_it() -> None:
    """Models and losses are pickled; `user_code` alone unpickles, and finds code by its name."""
    offenders = []
    for found in imports():
        unsafe = any(map(found.is_of, PICKLES))
        if unsafe and not LAYERS[found.layer].pickles:
            offenders.append(found.where)
    for file in files():
        for node in nodes(file.read_text(encoding="utf-8")):
            if not isinstance(node, ast.Call):
                continue
            keywords = {
                word.arg: ast.unparse(word.value)
                for word in node.keywords
                if word.arg in ("allow_pickle", "weights_only")
            }
            if not keywords and called_name(node) not in CALLS and "run" not in called_name(node):
                continue
            name = ast.unparse(node.func)
            where = f"{file.relative_to(ROOT)}:{node.lineno} calls {name}"
            if keywords.get("allow_pickle", "False") != "False":
                offenders.append(f"{where} with allow_pickle")
            if name.rpartition(".")[2] == "loads" and "pickle" in name and "user_code" not in where:
                offenders.append(where)
            if name in {"eval", "exec", "compile", "__import__"} or name.startswith("runpy."):
                offenders.append(where)
            if name == "torch.load" and keywords.get("weights_only") != "True":
                offenders.append(f"{where} without weights_only=True")
    broken("pickle is never read from a place that the user did not just write:", offenders)
