"""The types of a widget's traits, and those of the interface of its view.

A type is a string for a plain one ("string", "number", "boolean", "DataView"), `["T"]` for a list
of T, a dict by name for an object, `ANY_OBJECT` for an object whose names are not stated, `ANY` for
one of several.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anywidget
import traitlets

SOURCES = Path(__file__).resolve().parents[2] / "extensions" / "widgets" / "src"
ANY_OBJECT = "object"
ANY = "any"

PLAIN = {
    traitlets.Unicode: "string",
    traitlets.Bool: "boolean",
    traitlets.Int: "number",
    traitlets.Float: "number",
    traitlets.Bytes: "DataView",
    traitlets.Any: ANY,
}

_INTERFACE = re.compile(r"\binterface (\w+)(?: extends ([^{]+?))? \{(?:\}|\n(.*?)\n\})", re.DOTALL)
_MEMBER = re.compile(r"^  (\w+): (.+);$", re.MULTILINE)
_ALIAS = re.compile(r"\btype (\w+) =\s*([^;]+);")
_COMMENT = re.compile(r"/\*\*.*?\*/|//[^\n]*", re.DOTALL)


def python_types(widget: type[anywidget.AnyWidget]) -> dict[str, Any]:
    """The traits that are sent, but for those that every widget has, by name."""
    general = anywidget.AnyWidget.class_traits(sync=True)
    return {
        name: _python_type(trait)
        for name, trait in widget.class_traits(sync=True).items()
        if name not in general and not name.startswith("_")
    }


def _python_type(trait: traitlets.TraitType[Any, Any]) -> Any:
    if isinstance(trait, traitlets.List):
        return [_python_type(trait._trait)]
    if isinstance(trait, traitlets.Dict):
        members = trait._per_key_traits
        if members is None:
            return ANY_OBJECT
        return {name: _python_type(member) for name, member in members.items()}
    return PLAIN[type(trait)]


def typescript_types(source: str, more: str = "") -> dict[str, Any]:
    """The members of the interface `Traits` in `source`, by name.

    Args:
        source: TypeScript of the view.
        more: other TypeScript that may define types which `Traits` names.
    """
    text = _COMMENT.sub("", source + "\n" + more)
    text = re.sub(r"\n\s*\n", "\n", text)
    found = {name: (bases, body) for name, bases, body in _INTERFACE.findall(text)}
    interfaces = {name: _with_bases(name, found) for name in found}
    return _object(interfaces["Traits"], interfaces, dict(_ALIAS.findall(text)))


def _with_bases(name: str, found: dict[str, tuple[str, str]]) -> str:
    """The body of an interface with those of the interfaces that it extends."""
    bases, body = found[name]
    known = [base for base in re.findall(r"\w+", bases) if base in found]
    return "\n".join([*(_with_bases(base, found) for base in known), body])


def _object(body: str, interfaces: dict[str, str], aliases: dict[str, str]) -> dict[str, Any]:
    return {
        name: _typescript_type(text, interfaces, aliases) for name, text in _MEMBER.findall(body)
    }


def _typescript_type(text: str, interfaces: dict[str, str], aliases: dict[str, str]) -> Any:
    text = aliases.get(text.strip(), text).strip()
    if text.endswith("[]"):
        return [_typescript_type(text[:-2], interfaces, aliases)]
    if text in interfaces:
        return _object(interfaces[text], interfaces, aliases)
    if text.startswith("Record<string,"):
        return ANY_OBJECT
    parts = {part.strip() for part in text.strip("[]").split("," if text[0] == "[" else "|")}
    kinds = {"string" if part.startswith('"') else part for part in parts}
    unknown = kinds - {"string", "number", "boolean", "null", "DataView"}
    assert not unknown, f"types that no trait has: {sorted(unknown)}"
    kind = kinds.pop() if len(kinds) == 1 else ANY
    return [kind] if text[0] == "[" else kind


def differences(python: dict[str, Any], typescript: dict[str, Any]) -> list[str]:
    """A sentence for each trait that one side lacks or has another type of."""
    found = []
    for name in sorted(python.keys() | typescript.keys()):
        if name not in typescript:
            found.append(f"{name}: the interface of the view lacks it.")
        elif name not in python:
            found.append(f"{name}: the widget lacks it.")
        elif python[name] != typescript[name]:
            found.append(f"{name}: {python[name]} in the widget, {typescript[name]} in the view.")
    return found
