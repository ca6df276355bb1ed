"""`wb.check`: checks a graph in this process, and a module in a child process."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from workbench.check.checked_model import check_graph, check_model
from workbench.check.request import CheckRequest
from workbench.check.result import Check
from workbench.child_process.child import run_child
from workbench.errors import ModelError
from workbench.files.temporary_folder import temporary_folder
from workbench.load import load_model
from workbench.models import Model
from workbench.models.cached_model import exporting_environment
from workbench.settings.config import make_config
from workbench.settings.lora import LoraOptions

if TYPE_CHECKING:
    import onnx


def check(
    model: Model | str | Path | onnx.ModelProto,
    *,
    requires_grad: Sequence[str] | None = None,
    lora: LoraOptions | Mapping[str, Any] | None = None,
) -> Check:
    """Determine for each operator whether ONNX Runtime can train it; nothing is trained.

    A module is exported, in a child process, and its graph is kept in the export cache, from which
    training takes it. Native code is not run on the graph, so operators that crash ONNX Runtime are
    reported safely.

    Args:
        model: a `Model`, what `load_model` takes, or a forward graph whose initializers of rank 1
            and more are trained.
        requires_grad: names or patterns of the parameters to train; None: all, or with `lora` its
            adapters alone.
        lora: low-rank adaptation of a `Model`: a `LoraOptions`, or its fields as a dict.

    Raises:
        ModelError: it cannot be loaded, saved or exported.
        ConfigError: a pattern matches no parameter.
    """
    if _is_graph(model):
        return check_graph(model)
    loaded = model if isinstance(model, Model) else load_model(model)
    patterns = None if requires_grad is None else tuple(requires_grad)
    options = make_config({"lora": lora}).lora
    if not loaded.has_module:
        return check_model(loaded, patterns, options)
    return _check_in_child(loaded, patterns, options)


def _is_graph(model: object) -> TypeGuard[onnx.ModelProto]:
    # A graph can only exist if onnx is already loaded.
    loaded = sys.modules.get("onnx")
    return loaded is not None and isinstance(model, loaded.ModelProto)


def _check_in_child(
    model: Model, requires_grad: tuple[str, ...] | None, lora: LoraOptions | None
) -> Check:
    """An export replaces parts of torch in its process, which other threads may be using."""
    with temporary_folder() as folder:
        request = CheckRequest(folder / "model", requires_grad, lora)
        model.save(request.model)
        request.write(folder / "request.json")
        run_child(
            "workbench.check",
            folder / "request.json",
            _ignore,
            exporting_environment(model.code, make_config({}).threads),
            work="checks the model",
            failure=ModelError,
        )
        return request.read_result(model.name)


def _ignore(_: str) -> None:
    """Progress is not reported."""
