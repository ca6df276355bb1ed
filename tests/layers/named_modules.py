"""Modules of lower rows that a text names, for something else to import, start or read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.layers.imports import dotted_module, files, layer_of, parsed
from tests.layers.table import LAYERS, RANK, SAMPLES

COMPUTED = "?"


def text_of(node: ast.AST, package: str) -> str | None:
    """The text that an expression makes, with `COMPUTED` for its unknown parts; None: no text."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.Name(id="__package__"):
            return package
        case ast.FormattedValue(value=value):
            return text_of(value, package) or COMPUTED
        case ast.JoinedStr(values=values):
            return "".join(text_of(value, package) or COMPUTED for value in values)
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=left, right=right):
            texts = (text_of(left, package), text_of(right, package))
            return None if texts == (None, None) else "".join(each or COMPUTED for each in texts)
    return None


def texts_in(node: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Line and text of each text in `node`, docstrings left out."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    text = text_of(node, package)
    if text is not None:
        yield getattr(node, "lineno", 0), text
        return
    for child in ast.iter_child_nodes(node):
        yield from texts_in(child, package)


def named_below_in(file: Path, source: str) -> Iterator[tuple[Path, int, str]]:
    """File, line and row of each module of a lower row, or of the samples, that a text names.

    A row that is computed counts as a lower one. Docstrings name what they like.
    """
    layer = layer_of(file)
    if layer == "":
        return
    for line, text in texts_in(parsed(source), ".".join(dotted_module(file))):
        for row in re.findall(r"\bworkbench(?:\.| import )(\w+|\?)", text):
            if row == COMPUTED or RANK.get(row, -1) > RANK[layer]:
                yield file, line, row
        if re.search(rf"\b{SAMPLES}\b", text) and not LAYERS[layer].samples:
            yield file, line, SAMPLES


@cache
def named_below() -> tuple[tuple[Path, int, str], ...]:
    return tuple(
        found
        for file in files()
        for found in named_below_in(file, file.read_text(encoding="utf-8"))
    )
