"""Run the benchmarks: `python -m benchmarks [--quick] [NAME...]`.

`python -m benchmarks models` and `parts` have further arguments, see `benchmarks/models`.

They need an otherwise idle machine. Results are printed as Markdown; a figure that misses its aim
is marked, and is no failure: time is never tested.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Mapping

from benchmarks.integrations import frameworks
from benchmarks.kernels import aten_kernels, device_kernels, standard_gradients, tuning
from benchmarks.memory import footprint, large_model, largest_batch
from benchmarks.models import models, parts
from benchmarks.ortmodule import autograd_function, ortmodule_step, padding, rewritten_layers
from benchmarks.page import (
    charts,
    first_point,
    graph_view,
    interface_throughput,
    page_latency,
    run_browser,
)
from benchmarks.result import Result, as_markdown
from benchmarks.runs import (
    checkpoint,
    import_time,
    loop_overhead,
    other_load,
    personalisation,
    startup,
)
from benchmarks.scale_out import distributed, federated
from workbench.machine.machine import describe_machine, machine_sentence

BENCHMARKS: Mapping[str, Callable[[bool], list[Result]]] = {
    "autograd-function": autograd_function.measure,
    "charts": charts.measure,
    "checkpoint": checkpoint.measure,
    "distributed": distributed.measure,
    "device-kernels": device_kernels.measure,
    "import": import_time.measure,
    "federated": federated.measure,
    "first-point": first_point.measure,
    "footprint": footprint.measure,
    "frameworks": frameworks.measure,
    "gradients": standard_gradients.measure,
    "graph-view": graph_view.measure,
    "interface": interface_throughput.measure,
    "loop": loop_overhead.measure,
    "large-model": large_model.measure,
    "largest-batch": largest_batch.measure,
    "layers": rewritten_layers.measure,
    "ortmodule": ortmodule_step.measure,
    "other-load": other_load.measure,
    "aten-kernels": aten_kernels.measure,
    "padding": padding.measure,
    "page-latency": page_latency.measure,
    "run-browser": run_browser.measure,
    "personalisation": personalisation.measure,
    "startup": startup.measure,
    "tuning": tuning.measure,
}
"""Each takes whether to be quick (fewer rounds, for a look) and gives its figures."""


def main() -> int:
    for name, program in {"models": models, "parts": parts}.items():
        if sys.argv[1:2] == [name]:
            return program.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; or models or parts"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds; only for a look")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")

    results: list[Result] = []
    with tempfile.TemporaryDirectory() as home:
        os.environ["WORKBENCH_HOME"] = home
        for name in options.names or BENCHMARKS:
            print(f"Measuring {name}", file=sys.stderr, flush=True)
            results += BENCHMARKS[name](options.quick)
    print(as_markdown(results, machine_sentence(describe_machine())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
