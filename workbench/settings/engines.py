"""The table of engines: name, class, description, line style and needs.

Both sides of the run folder read this table, so it loads neither an engine nor torch. Lists of
engines, the settings' check, the live charts and the static figures derive from it.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, ValidationInfo

from workbench.errors import EngineError, nearest, value_text

GROUP = "workbench.engines"
"""Entry points of this group register engines of other packages."""

REFERENCE = "pytorch"
"""The engine that `compare`, `verify` and `profile` hold the others against, where it can train."""

DEFAULT_ENGINE = "ondevice"
"""The engine of a run that names none."""

PROFILED_ENGINE = "ortmodule"
"""The engine that `profile` measures if none is named."""

Profiler = Literal["onnxruntime", "pytorch"]
NODE_PROFILER: Profiler = "onnxruntime"
OPERATOR_PROFILER: Profiler = "pytorch"

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_COLOR = re.compile(r"#[0-9a-f]{6}")
_IMPLEMENTATION = re.compile(r"[\w.]+:\w+")


class GraphKind(StrEnum):
    """Graphs that ONNX Runtime trains. Their kernels are chosen by different settings."""

    DEVICE = "device"
    """Those of training artifacts, by `device_kernels`, `operator_kernels` and `threads`."""
    ORTMODULE = "ortmodule"
    """Those of an ORTModule, by the options in the setting `ortmodule`."""


@dataclass(frozen=True, kw_only=True)
class EngineInfo:
    """One engine.

    Raises:
        EngineError: a field has the wrong form.
    """

    name: str
    """Lower-case letters, digits and hyphens."""
    implementation: str
    """"package.module:Class" of the `Engine`, imported only to train or to check availability."""
    description: str
    """A few words, shown with the name in lists."""
    color: str
    """Line color on a light background, "#rrggbb"."""
    dark_color: str
    """Line color on a dark background."""
    dash: tuple[float, ...] = ()
    """Lengths of dashes and gaps in CSS pixels, for a line 1.75 pixels wide; empty: solid. Dashes
    differ between engines, so that lines are distinct without colour."""
    needs_module: bool = True
    """Whether it needs an `nn.Module`; an ONNX graph is not sufficient."""
    compared_by_default: bool = False
    """Whether `compare` uses it by default; ignored for other packages."""
    verified_by_default: bool = False
    """Whether `verify` uses it by default; ignored for other packages."""
    required: bool = False
    """Whether `doctor` reports a failure if this engine cannot run."""
    several_processes: bool = False
    """Whether it can train in several processes that exchange gradients."""
    trains_artifacts: bool = False
    """Whether it trains the files of `generate_artifacts`. They contain the model and its losses,
    so that such a run is continued without the user's code."""
    graphs: GraphKind | None = None
    """The graphs that it trains, by which its kernels can be chosen and tuned; None: others."""
    least_memory_bytes: int = 0
    """Memory of its worker without a model: a `device` with less is refused."""
    profilers: tuple[Profiler, ...] = ()
    """Profilers that `profile` uses: "onnxruntime" times the nodes of its graphs, see
    `Engine.graph_timings`, "pytorch" PyTorch's operators. Empty: it cannot be profiled."""
    offered: bool = True
    """Whether it is listed in pages, messages and help; False for tests."""

    def __post_init__(self) -> None:
        forms = {
            "name": (_NAME, "lower-case letters, digits and hyphens"),
            "implementation": (_IMPLEMENTATION, '"package.module:Class"'),
            "color": (_COLOR, '"#rrggbb" in lower case'),
            "dark_color": (_COLOR, '"#rrggbb" in lower case'),
        }
        for field, (pattern, form) in forms.items():
            value = getattr(self, field)
            if not isinstance(value, str) or not pattern.fullmatch(value):
                raise EngineError(f"EngineInfo: {field}={value_text(value)}: give {form}.")
        if self.graphs not in (None, *GraphKind):
            raise EngineError(
                f"EngineInfo: graphs={value_text(self.graphs)}: give "
                f"{' or '.join(map(repr, map(str, GraphKind)))}, or leave it out."
            )
        known = get_args(Profiler)
        if not isinstance(self.profilers, tuple) or not {*self.profilers} <= {*known}:
            raise EngineError(
                f"EngineInfo: profilers={value_text(self.profilers)}: give a tuple of "
                f"{' and '.join(map(repr, known))}, or leave it out."
            )


BUILT_IN = (
    EngineInfo(
        name=REFERENCE,
        implementation="workbench.engines.pytorch:PyTorchEngine",
        description="PyTorch, eager",
        color="#c2410c",
        dark_color="#fb923c",
        compared_by_default=True,
        required=True,
        several_processes=True,
        profilers=("pytorch",),
    ),
    EngineInfo(
        name="pytorch-compile",
        implementation="workbench.engines.pytorch_compile:PyTorchCompileEngine",
        description="PyTorch, compiled by torch.compile",
        color="#7c3aed",
        dark_color="#c4b5fd",
        dash=(11, 4),
    ),
    EngineInfo(
        name=DEFAULT_ENGINE,
        implementation="workbench.engines.ondevice.engine:OnDeviceEngine",
        description="ONNX Runtime on-device training, without PyTorch",
        color="#0369a1",
        dark_color="#38bdf8",
        dash=(7, 3, 2, 3),
        needs_module=False,
        compared_by_default=True,
        verified_by_default=True,
        required=True,
        trains_artifacts=True,
        graphs=GraphKind.DEVICE,
        # Python and imported packages 50 MB, ONNX Runtime 31 MB, measured on x86-64 Linux.
        least_memory_bytes=80_000_000,
        profilers=("onnxruntime",),
    ),
    EngineInfo(
        name=PROFILED_ENGINE,
        implementation="workbench.engines.ortmodule:ORTModuleEngine",
        description="ONNX Runtime under PyTorch, by ORTModule",
        color="#15803d",
        dark_color="#4ade80",
        dash=(3, 3),
        compared_by_default=True,
        verified_by_default=True,
        required=True,
        several_processes=True,
        graphs=GraphKind.ORTMODULE,
        profilers=("onnxruntime", "pytorch"),
    ),
    EngineInfo(
        name="fake",
        implementation="workbench.engines.fake:FakeEngine",
        description="a linear model in numpy, for tests",
        color="#525252",
        dark_color="#b5b5b5",
        dash=(5, 5),
        needs_module=False,
        offered=False,
    ),
)

ARTIFACTS_ENGINE = next(info.name for info in BUILT_IN if info.trains_artifacts)
"""The engine of the files of `generate_artifacts`, and of the clients of federated training."""


@functools.cache
def engine_table() -> Mapping[str, EngineInfo]:
    """Every engine by name: those of the workbench, then those that installed packages register.

    Invalid registrations are left out: see `registration_problems`.
    """
    table = {info.name: info for info in BUILT_IN}
    for entry in entry_points(group=GROUP):
        with contextlib.suppress(EngineError):
            info = _registered(entry)
            table[info.name] = info
    return MappingProxyType(table)


def registration_problems() -> list[str]:
    """Problems of engines that installed packages register, a sentence each."""
    problems = []
    for entry in entry_points(group=GROUP):
        try:
            _registered(entry)
        except EngineError as error:
            problems.append(str(error))
    return problems


def offered_engines() -> tuple[str, ...]:
    """Names of the engines listed in pages, messages and help."""
    return tuple(info.name for info in engine_table().values() if info.offered)


def reference_of(engines: Sequence[str]) -> str:
    """The engine that the others are compared with: `pytorch` if present, else the first."""
    return REFERENCE if REFERENCE in engines else engines[0]


def engine_info(name: str) -> EngineInfo:
    """The engine called `name`.

    Raises:
        EngineError: there is no such engine; the message has the nearest names.
    """
    try:
        return engine_table()[name]
    except KeyError:
        offered = nearest(name, offered_engines())
        raise EngineError(f"There is no engine {value_text(name)}. {offered}") from None


def _registered(entry: EntryPoint) -> EngineInfo:
    try:
        found = entry.load()
    except (Exception, SystemExit) as error:
        raise _refusal(entry, f"{type(error).__name__}: {error}") from error
    if not isinstance(found, EngineInfo):
        raise _refusal(entry, f"{entry.value} is not an EngineInfo")
    if found.name != entry.name:
        raise _refusal(entry, f"its EngineInfo is named {found.name!r}")
    if found.name in {info.name for info in BUILT_IN}:
        raise _refusal(entry, "the workbench has an engine of this name")
    return found


def _refusal(entry: EntryPoint, why: str) -> EngineError:
    package = entry.dist.name if entry.dist else "an installed package"
    return EngineError(
        f"Engine {entry.name!r} of {package} cannot be registered: {why.rstrip('.')}. "
        f"Repair or uninstall {package}."
    )


def _known(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str) and value in engine_table():
        return value
    shown = value_text(value)
    hint = nearest(value if isinstance(value, str) else shown, offered_engines())
    raise ValueError(f"{info.field_name}={shown}: {hint}")


EngineName = Annotated[str, BeforeValidator(_known)]
"""The name of an engine, as a field of settings and records."""
