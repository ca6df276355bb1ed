"""Reads weights from a .safetensors file or a PyTorch state dict, without executing code."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import ModelError
from workbench.files.input_file import check_file

TORCH_SUFFIXES = frozenset({".pt", ".pth", ".bin", ".ckpt"})
"""Suffixes of PyTorch files."""

WRAPPERS = ("state_dict", "model_state_dict", "model")
"""Usual keys of the state dict in a larger checkpoint."""


def read_weights_file(path: Path) -> dict[str, np.ndarray]:
    """Read arrays by name; floating-point ones are converted to float32.

    Raises:
        ModelError: the file is missing, corrupt, has an unsupported format, or contains Python
            objects, which would have to be unpickled.
    """
    check_file(path, ModelError)
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    if path.suffix in TORCH_SUFFIXES:
        return _read_state_dict(path)
    raise ModelError(
        f"{path} is not a weights file: its suffix must be .safetensors or "
        f"{', '.join(sorted(TORCH_SUFFIXES))}."
    )


def refuse_as_model(path: Path) -> None:
    """Raise a ModelError that a file contains weights but no model."""
    weights = read_weights_file(path)
    some = ", ".join(list(weights)[:3])
    raise ModelError(
        f"{path} contains {len(weights)} weights ({some}, ...) but no model code. Build the "
        f"module, then call load_model(module, example_inputs=..., weights={str(path)!r})."
    )


def _read_safetensors(path: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        try:
            return {name: _plain(array) for name, array in load_file(path).items()}
        except TypeError:  # numpy has no bfloat16
            from safetensors.torch import load_file as load_tensors

            return {name: _from_tensor(value) for name, value in load_tensors(path).items()}
    except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
        raise ModelError(f"{path} is not a readable .safetensors file: {error!r}.") from error


def _read_state_dict(path: Path) -> dict[str, np.ndarray]:
    import torch

    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"{path} contains Python objects other than tensors, probably a whole module. Reading "
            "them could execute arbitrary code, so they are rejected. If you trust the file, save "
            "its state dict with torch.save(module.state_dict(), path), build the module and call "
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
        f"{path} contains {type(content).__name__} instead of a state dict (tensors by name); save "
        "module.state_dict()."
    )


def _from_tensor(value: Any) -> np.ndarray:
    plain = value.detach().float() if value.is_floating_point() else value.detach()
    return _plain(plain.contiguous().numpy())


def _plain(array: np.ndarray) -> np.ndarray:
    # ml_dtypes, where it is loaded, registers a bfloat16 dtype of another kind in numpy.
    floating = array.dtype.kind == "f" or array.dtype.name == "bfloat16"
    return array.astype(np.float32) if floating else array.copy()
