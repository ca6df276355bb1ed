"""A compiler that miscompiles: the check of the kernels finds a defect in each of their sources."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from workbench.extension_build import build_extensions as building
from workbench.extensions.native_extension import DEVICE_KERNELS, sources

pytestmark = [pytest.mark.sweep, pytest.mark.fault]


class Defect(NamedTuple):
    """What a source says, what is compiled in its place, and the kernel that is then wrong."""

    source: str
    right: str
    wrong: str
    kernel: str
    compiled: str = ""
    """The file to compile, where the source is a header."""


DEFECTS = {
    "attention's dropped weights": Defect(
        "attention.cpp", "chance[j] *= kept[j]", "chance[j] *= 1.0f", "AttentionGradient"
    ),
    "attention's slope": Defect(
        "attention.cpp", "(slope[j] - sum)", "(slope[j] + sum)", "AttentionGradient"
    ),
    "convolution": Defect(
        "convolution.cpp", "sums[j] += sum", "sums[j] = sum", "ConvolutionGradient"
    ),
    "cross entropy": Defect(
        "cross_entropy.cpp",
        "exponential_or_zero(scores[i] - largest) * factor",
        "exponential_or_zero(scores[i] - largest)",
        "CrossEntropyGradient",
    ),
    "dropout's factor": Defect(
        "dropped.h", "(kSteps - limit_))", "(kSteps - limit_ + 1))", "Attention", "attention.cpp"
    ),
    "dropout's round": Defect(
        "dropped.h", "0x9E3779B9u", "0x9E3779B8u", "Attention", "attention.cpp"
    ),
    "embedding": Defect(
        "embedding.cpp", "sums[i] += values[i]", "sums[i] = values[i]", "EmbeddingGradient"
    ),
    "layer norm": Defect(
        "layer_normalization.cpp", "- n * correlation", "", "LayerNormalizationGradient"
    ),
    "pooling": Defect(
        "max_pool.cpp", "std::max(std::max(above, below)", "std::max(above", "MaxPool"
    ),
    "pooling's slope": Defect(
        "max_pool.cpp", "= where(third, slope)", "= where(fourth, slope)", "MaxPoolGradient"
    ),
    "pooling's ties": Defect(
        "max_pool.cpp", "value > largest[j]", "value >= largest[j]", "MaxPoolGradient"
    ),
    "pooling's zeros": Defect(
        "max_pool.cpp", "all | (largest > 0)", "all | (largest >= 0)", "MaxPoolGradient"
    ),
    "ReLU": Defect("relu.cpp", "? 0 : dy[i]", "? dy[i] : 0", "ReluGradient"),
    "RMS norm": Defect(
        "rms_normalization.cpp", "- n * correlation", "", "RMSNormalizationGradient"
    ),
    "SiLU": Defect(
        "silu.cpp", "(share + silu * rest)", "(share - silu * rest)", "GatedSiluGradient"
    ),
    "softmax": Defect(
        "softmax.cpp", "exponential_or_zero(y[i]) * sum", "sum", "LogSoftmaxGradient"
    ),
    "sum": Defect("column_sum.cpp", "a[3 * stride + i]", "a[2 * stride + i]", "ColumnSum"),
    "tanh GELU": Defect("tanh_gelu.cpp", "0.0713548163f", "0.072f", "TanhGelu"),
    "tanh GELU's slope": Defect(
        "tanh_gelu.cpp", "3.0f * kCubic", "2.99f * kCubic", "TanhGeluGradient"
    ),
}

Check = Callable[[Sequence[Path], str], str]
"""Of objects in place of those of the same name, in a folder of that name: what the check says."""


@pytest.fixture(scope="module")
def check(tmp_path_factory: pytest.TempPathFactory) -> Check:
    """Each source is compiled once as it is."""
    folder = tmp_path_factory.mktemp("objects")
    kept = [compiled(source, folder) for source in cpp_files(sources(DEVICE_KERNELS)[0].parent)]

    def said(changed: Sequence[Path], name: str) -> str:
        own = {each.name for each in changed}
        objects = [*changed, *(each for each in kept if each.name not in own)]
        library = tmp_path_factory.mktemp(name) / f"{DEVICE_KERNELS}.so"
        run(["-shared", *map(str, objects), "-o", str(library)])
        command = [sys.executable, "-m", "workbench.ort.kernel_library.check", str(library)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    return said


def cpp_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.cpp"))


def compiled(source: Path, folder: Path) -> Path:
    made = folder / f"{source.stem}.o"
    run([*building._FLAGS[DEVICE_KERNELS], "-c", str(source), "-o", str(made)])
    return made


def run(arguments: Sequence[str]) -> None:
    compiler = building.find_compiler()
    assert compiler is not None
    subprocess.run([compiler, *arguments], check=True)


def test_the_sources_as_they_are_have_none(check: Check) -> None:
    assert check([], "whole") == ""


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found(name: str, check: Check, tmp_path: Path) -> None:
    defect = DEFECTS[name]
    wrong = tmp_path / "sources"
    shutil.copytree(sources(DEVICE_KERNELS)[0].parent, wrong)
    source = wrong / defect.source
    text = source.read_text(encoding="utf-8")
    assert defect.right in text
    source.write_text(text.replace(defect.right, defect.wrong), encoding="utf-8")
    changed = compiled(wrong / (defect.compiled or defect.source), tmp_path)
    assert f"The kernel {defect.kernel} in " in check([changed], "defect")


def test_every_source_of_a_kernel_has_one() -> None:
    of_kernels = {each.name for each in cpp_files(sources(DEVICE_KERNELS)[0].parent)}
    # GELU's is the one that goes through the whole build; the others hold no kernel.
    of_kernels -= {"gelu.cpp", "library.cpp", "operator.cpp"}
    assert {defect.source for defect in DEFECTS.values()} >= of_kernels
