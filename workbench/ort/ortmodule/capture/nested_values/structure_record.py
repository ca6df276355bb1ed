"""The structure of arguments or results as JSON, as far as it names no class of a user.

A record is untrusted: reading one creates nothing but the containers listed here, and imports
nothing.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import Any

from workbench.ort.ortmodule.capture.nested_values import structure as nested
from workbench.ort.ortmodule.capture.nested_values.structure import (
    LEAF,
    Constant,
    Leaf,
    Number,
    Structure,
)

_TENSOR = "tensor"
_NUMBERS: dict[str, type] = {"int": int, "float": float, "bool": bool}
_PLAIN: dict[str, type] = {"bool": bool, "int": int, "str": str}
_SEQUENCES: dict[str, type] = {"list": list, "tuple": tuple}
_MAPPINGS: dict[str, type] = {"dict": dict, "ordered_dict": OrderedDict}
_OUTPUT = "transformers"
"""One of transformers' dataclasses for the results of a model."""


class NoRecordError(Exception):
    """The structure has a part that JSON cannot express."""


class CorruptRecordError(ValueError):
    """What was read is not a record that was written here."""


def structure_record(structure: Structure) -> Any:
    """`structure` as JSON.

    Raises:
        NoRecordError: it has a part of another class than those that are read back.
    """
    match structure:
        case Leaf():
            return _TENSOR
        case Number(kind):
            return ["number", _name_of(kind, _NUMBERS)]
        case Constant(kind, value):
            return _constant_record(kind, value)
        case nested.Sequence(kind, items):
            return [_name_of(kind, _SEQUENCES), list(map(structure_record, items))]
        case nested.Mapping(kind, keys, items) if all(type(key) is str for key in keys):
            pairs = [[key, structure_record(item)] for key, item in zip(keys, items, strict=True)]
            name = [_OUTPUT, kind.__module__, kind.__qualname__]
            return [*(name if _is_output(kind) else [_name_of(kind, _MAPPINGS)]), pairs]
    raise NoRecordError


def _constant_record(kind: type, value: Any) -> list[Any]:
    if value is None:
        return ["none"]
    return ["float", value.hex()] if kind is float else [_name_of(kind, _PLAIN), value]


def structure_of(record: Any) -> Structure:
    """The structure that `structure_record` made `record` of.

    Raises:
        CorruptRecordError: it is none, or names a class that this process has not imported.
    """
    match record:
        case str() if record == _TENSOR:
            return LEAF
        case ["number", str(name)] if name in _NUMBERS:
            return Number(_NUMBERS[name])
        case ["none"] | ["float" | "bool" | "int" | "str", _]:
            return _constant_of(*record)
        case [str(name), list(items)] if name in _SEQUENCES:
            return nested.Sequence(_SEQUENCES[name], tuple(map(structure_of, items)))
        case [str(name), list(pairs)] if name in _MAPPINGS:
            return _mapping(_MAPPINGS[name], pairs)
        case [str(name), str(module), str(output), list(pairs)] if name == _OUTPUT:
            found: Any = getattr(sys.modules.get(module), output, None)
            if _is_output(found):
                return _mapping(found, pairs)
    raise CorruptRecordError(f"{record!r:.80} is not the record of a structure.")


def _constant_of(name: str, value: Any = None) -> Constant:
    if name == "none":
        return Constant(type(None), None)
    if name == "float" and isinstance(value, str):
        return Constant(float, float.fromhex(value))
    if type(value) is not _PLAIN.get(name):
        raise CorruptRecordError(f"{value!r:.80} is no {name}.")
    return Constant(_PLAIN[name], value)


def _mapping(kind: type, pairs: list[Any]) -> nested.Mapping:
    keys, items = [], []
    for pair in pairs:
        match pair:
            case [str(key), item]:
                keys.append(key)
                items.append(structure_of(item))
            case _:
                raise CorruptRecordError(f"{pair!r:.80} is not an item of a mapping.")
    return nested.Mapping(kind, tuple(keys), tuple(items))


def _name_of(kind: type, known: dict[str, type]) -> str:
    for name, each in known.items():
        if each is kind:
            return name
    raise NoRecordError


def _is_output(kind: Any) -> bool:
    """Whether it is a class of transformers' own for results, found under its own name."""
    if not isinstance(kind, type) or kind.__module__.partition(".")[0] != "transformers":
        return False
    base = getattr(sys.modules.get("transformers.utils.generic"), "ModelOutput", None)
    found = getattr(sys.modules.get(kind.__module__), kind.__qualname__, None)
    return isinstance(base, type) and issubclass(kind, base) and found is kind
