"""Replaces the saved model of a resumed run by a given one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from workbench.models import Model
from workbench.run_folder.run_folder import RunFolder


def restore_model(folder: RunFolder) -> None:
    """Move the model back that a process had moved away when it was killed."""
    old = _previous_model(folder)
    if old.is_dir() and not folder.model_path.exists():
        os.replace(old, folder.model_path)


def _previous_model(folder: RunFolder) -> Path:
    return folder.path / "model.previous"


def replace_model(folder: RunFolder, model: Model) -> None:
    """Save `model` in place of the recorded one; loss functions stay beside it."""
    old = _previous_model(folder)
    shutil.rmtree(old, ignore_errors=True)
    os.replace(folder.model_path, old)
    try:
        model.save(folder.model_path)
        for function in old.glob("loss-*.pkl"):
            if function.is_file() and not function.is_symlink():
                shutil.copy(function, folder.model_path)
    except BaseException:
        shutil.rmtree(folder.model_path, ignore_errors=True)
        os.replace(old, folder.model_path)
        raise
    shutil.rmtree(old)
