"""Times gradients in either form: `python -m benchmarks.kernels.gradient_nodes ROUNDS`."""

from __future__ import annotations

import json
import sys

from benchmarks.kernels.aten_kernel_nodes import elementwise, in_rounds, model_of, rows, runner
from workbench.machine.threads import default_threads
from workbench.ort.graph.rewrites.standard_gradients import write_standard_gradients


def main() -> None:
    rounds, threads = int(sys.argv[1]), default_threads()
    measured = []
    for case in (*elementwise(), *rows()):
        native, standard = model_of(case), model_of(case)
        if write_standard_gradients(standard):
            models = {"native": native, "standard": standard}
            runs = {name: runner(model, case, threads) for name, model in models.items()}
            measured.append([case.operator, case.detail, in_rounds(runs, rounds)])
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
