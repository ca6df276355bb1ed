"""Where the time of a step goes: `python -m benchmarks parts [MODEL...]`.

Time of the operators of each engine by what they do, beside that of eager PyTorch's, which is
profiled right after it. Products alone: as in `models`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence

import workbench as wb
from benchmarks.models.products import measured
from benchmarks.models.subjects import NAMES, load
from workbench.machine.machine import describe_machine, machine_sentence
from workbench.profiling import EngineProfile

MODELS = ("text-gpt", "text-bert", "text-bert-512", "hf-classifier", "vit")
ENGINES = ("ondevice", "ortmodule")

PARTS = {
    "matrix products": r"(Fused)?MatMul|(Fused)?Gemm|aten::(mm|addmm|bmm|baddbmm)",
    "attention": r"Attention(Gradient)?|aten::_scaled_dot_product.*",
    "copies": r"Transpose|Split|Concat|aten::(copy_|fill_|cat|clone)",
    "optimizer": r"AdamWOptimizer|SGDOptimizerV2|aten::_fused_adamw_|Optimizer\.step",
    "between nodes": r"\(between nodes\)",
}
"""Part of a step -> operators whose whole name matches; `OTHER` has the rest."""

OTHER = "others"
COLUMNS = (*PARTS, OTHER)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks parts")
    parser.add_argument("names", nargs="*", metavar="MODEL", help=f"of {', '.join(NAMES)}")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(NAMES)}")
    heads = ("model", "engine", "step, ms", "products alone, ms", *COLUMNS)
    print("| " + " | ".join(heads) + " |")
    print("|---|---|" + "---:|" * (len(heads) - 2))
    for name in options.names or MODELS:
        subject, products = load(name), measured(name)
        for engine in ENGINES:
            profile = wb.profile(subject.model, subject.data, engine=engine, **subject.settings)
            for one in profile.engines:
                cells = (name, one.engine, _number(one.step_ms), _number(1e3 * products.seconds))
                print("| " + " | ".join([*cells, *_parts(one)]) + " |", flush=True)
    print(f"\nMachine: {machine_sentence(describe_machine())}")
    return 0


def _parts(profile: EngineProfile) -> list[str]:
    """Milliseconds of each part of a step."""
    sums: Counter[str] = Counter()
    for time in profile.times:
        sums[part_of(time.op)] += time.us / 1e3
    return [_number(sums[part]) for part in COLUMNS]


def part_of(operator: str) -> str:
    return next((part for part, names in PARTS.items() if re.fullmatch(names, operator)), OTHER)


def _number(milliseconds: float) -> str:
    return f"{milliseconds:.1f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
