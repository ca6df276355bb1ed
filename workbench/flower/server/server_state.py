"""State of the server of a federated run between rounds, beside the weights of a checkpoint.

A file of a checkpoint, `server_state.safetensors`, of arrays by name:

    weights/NAME      the global weights, which some strategies have in float64
    m_t/, v_t/        moments of FedAdam, FedYogi and FedAdagrad, by weight
    momentum_vector/  of FedAvgM, by position
    clipping_norm     of adaptive clipping
    spent             how much of each client's privacy is spent; see `PrivacyAccountant`
    trained           whether an update of a client was used

Nothing random is kept: what a round draws is seeded by its number.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from flwr.serverapp.strategy import Strategy
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from workbench.errors import RunFolderError
from workbench.flower.server.epsilon import PrivacyAccountant

FILE = "server_state.safetensors"

_MOMENTS = ("m_t", "v_t")
_MOMENTUM = "momentum_vector"
_NORM = "clipping_norm"


def save_server_state(
    folder: Path,
    weights: dict[str, np.ndarray],
    strategy: Strategy,
    accountant: PrivacyAccountant,
    trained: bool,
) -> None:
    """Write the state into the folder of a checkpoint."""
    arrays = {f"weights/{name}": value for name, value in weights.items()}
    for moment in _MOMENTS:
        held: dict[str, np.ndarray] | None = getattr(strategy, moment, None)
        arrays |= {f"{moment}/{name}": value for name, value in (held or {}).items()}
    momentum: list[np.ndarray] | None = getattr(strategy, _MOMENTUM, None)
    arrays |= {f"{_MOMENTUM}/{index}": value for index, value in enumerate(momentum or [])}
    norm: float | None = getattr(strategy, _NORM, None)
    if norm is not None:
        arrays[_NORM] = np.array([norm])
    arrays["spent"] = accountant.spent
    arrays["trained"] = np.array([trained])
    # safetensors writes the raw buffer, so a transposed view must be copied first.
    save_file(
        {name: np.array(value, order="C", copy=True) for name, value in arrays.items()},
        folder / FILE,
    )


def restore_server_state(
    folder: Path, strategy: Strategy, accountant: PrivacyAccountant
) -> tuple[dict[str, np.ndarray], bool]:
    """Give a new strategy and accountant the state in the folder of a checkpoint.

    Returns:
        The global weights, and whether an update of a client was used.

    Raises:
        RunFolderError: the file is missing or corrupt.
    """
    if not (folder / FILE).exists():
        raise RunFolderError(
            f"{folder} has no {FILE}: an older version wrote it, without the state of the "
            "strategy. Start another run from its weights: wb.federate(..., base=RUN)."
        )
    try:
        arrays = load_file(folder / FILE)
        accountant.spent = arrays["spent"]
    except (SafetensorError, OSError, KeyError) as error:
        raise RunFolderError(f"{folder / FILE} cannot be read: {error}.") from None
    held: Any = strategy
    for moment in _MOMENTS:
        if values := _below(arrays, moment):
            setattr(held, moment, values)
    if momentum := _below(arrays, _MOMENTUM):
        held.momentum_vector = [momentum[str(index)] for index in range(len(momentum))]
    if _NORM in arrays:
        held.clipping_norm = float(arrays[_NORM][0])
    # An older version did not write whether an update was used.
    return _below(arrays, "weights"), bool(np.all(arrays.get("trained", True)))


def _below(arrays: dict[str, np.ndarray], group: str) -> dict[str, np.ndarray]:
    start = f"{group}/"
    return {n.removeprefix(start): value for n, value in arrays.items() if n.startswith(start)}
