"""Weights from a .safetensors file or a PyTorch state dict, without running anything in it."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import ModelError
from workbench.files.input_file import check_file

TORCH_SUFFIXES = frozenset({".pt", ".pth", ".bin", ".ckpt"})
"""What PyTorch's files are called."""

WRAPPERS = ("state_dict", "model_state_dict", "model")
"""Keys under which training scripts put the state dict in a larger checkpoint."""


def read_weights_file(path: Path) -> dict[str, np.ndarray]:
    """Arrays by name. Floating ones become float32.

    Raises:
        ModelError: the file is missing, damaged, of another kind, or holds objects besides
            tensors, which only unpickling could read.
    """
    check_file(path, ModelError)
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    if path.suffix in TORCH_SUFFIXES:
        return _read_state_dict(path)
    raise ModelError(
        f"{path} is no file of weights: it must end in .safetensors or {', '.join(TORCH_SUFFIXES)}."
    )


def refuse_as_model(path: Path) -> None:
    """Say why a PyTorch file is no model, and what to do with what it holds."""
    weights = read_weights_file(path)
    some = ", ".join(list(weights)[:3])
    raise ModelError(
        f"{path} holds {len(weights)} arrays of weights ({some}, ...) and no model: the code that "
        "uses them is not in it. Build the module, then load_model(module, example_inputs=..., "
        f"weights={str(path)!r})."
    )


def _read_safetensors(path: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return {name: _plain(array) for name, array in load_file(path).items()}
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise ModelError(f"{path} is not a readable .safetensors file: {error!r}.") from error


def _read_state_dict(path: Path) -> dict[str, np.ndarray]:
    import torch

    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"{path} holds Python objects besides tensors, probably a whole module. Reading them "
            "would run whatever code they carry, so they are refused. Where you trust the file, "
            "save its state dict, torch.save(module.state_dict(), path), build the module and use "
            "load_model(module, example_inputs=..., weights=path)."
        ) from error
    except Exception as error:
        raise ModelError(
            f"{path} is not a readable PyTorch file of weights: {type(error).__name__}: "
            f"{str(error).splitlines()[0] if str(error) else ''}"
        ) from error
    return {name: _from_tensor(value) for name, value in _state_dict(path, content).items()}


def _state_dict(path: Path, content: Any) -> Mapping[str, Any]:
    import torch

    candidates = [content]
    if isinstance(content, Mapping):
        candidates += [content[key] for key in WRAPPERS if key in content]
    for candidate in candidates:
        if isinstance(candidate, Mapping) and candidate:
            pairs = candidate.items()
            if all(isinstance(n, str) and isinstance(v, torch.Tensor) for n, v in pairs):
                return candidate
    raise ModelError(
        f"{path} holds {type(content).__name__} and no state dict (tensors by name); save "
        "module.state_dict() instead."
    )


def _from_tensor(value: Any) -> np.ndarray:
    plain = value.detach().float() if value.is_floating_point() else value.detach()
    return _plain(plain.contiguous().numpy())


def _plain(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype.kind == "f" else array.copy()
