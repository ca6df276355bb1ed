"""`python -m workbench.artifacts.footprint REQUEST.json`: predicts footprints."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

from workbench.artifacts.artifacts_folder import ArtifactsFolder
from workbench.artifacts.footprint.footprint import (
    FLOAT32_BYTES,
    KERNELS_BYTES,
    MOMENTS,
    NODE_BYTES,
    RUNTIME_BYTES,
    Footprint,
    checkpoint_bytes,
    gradients_bytes,
)
from workbench.artifacts.footprint.predict import LARGEST_BATCH, SPARE_BYTES
from workbench.child_process.child import serve
from workbench.files.json_file import write_json
from workbench.files.temporary_folder import temporary_folder
from workbench.ort.graph.memory.memory_plan import memory_plan, optimized_model
from workbench.ort.kernel_library.load import device_kernels


class FootprintPredictor:
    """Predicts the footprint of some artifacts at any batch size."""

    def __init__(self, artifacts: ArtifactsFolder, own_kernels: bool) -> None:
        """
        Args:
            own_kernels: training takes the workbench's own kernels, where this machine has them.
        """
        kernels = artifacts.kernels_model if own_kernels else None
        operators = artifacts.manifest.get("device_kernels")
        library = device_kernels().library if kernels is not None and operators else None
        with temporary_folder() as folder:
            portable = optimized_model(artifacts.training_model, folder)
            self._training, self._portable = portable, None
            if kernels is not None and (library is not None or not operators):
                self._training = optimized_model(kernels, folder, library)
                self._portable = portable
            self._eval = optimized_model(artifacts.eval_model, folder)
        groups, optimizer = artifacts.manifest["parameters"], artifacts.manifest["optimizer"]
        trained, frozen = (
            [math.prod(each["shape"]) * FLOAT32_BYTES for each in groups[name].values()]
            for name in ("trainable", "frozen")
        )
        self._parameters = sum(trained) + sum(frozen)
        self._gradients = gradients_bytes(trained, clipped=optimizer["max_grad_norm"] is not None)
        self._state = MOMENTS[optimizer["name"]] * sum(trained)
        nodes = NODE_BYTES * len(self._training.graph.node)
        self._runtime = RUNTIME_BYTES + nodes + (0 if library is None else KERNELS_BYTES)
        self._cache: dict[int, Footprint] = {}

    def footprint(self, batch_size: int) -> Footprint:
        if batch_size not in self._cache:
            self._cache[batch_size] = self._predicted(batch_size)
        return self._cache[batch_size]

    def largest_batch(self, memory_bytes: int, minimum: int, evaluate: bool) -> int:
        """The largest batch size of at least `minimum` that fits; 0: none does."""

        def fits(batch_size: int) -> bool:
            return self.footprint(batch_size).budget_bytes(evaluate=evaluate) <= memory_bytes

        if not fits(minimum):
            return 0
        fitting, too_large = minimum, 2 * minimum
        while too_large <= LARGEST_BATCH and fits(too_large):
            fitting, too_large = too_large, 2 * too_large
        while too_large - fitting > 1:
            middle = (fitting + too_large) // 2
            fitting, too_large = (middle, too_large) if fits(middle) else (fitting, middle)
        return min(fitting, LARGEST_BATCH)

    def _predicted(self, batch_size: int) -> Footprint:
        training = memory_plan(self._training, batch_size, self._portable)
        evaluation = memory_plan(self._eval, batch_size)
        return Footprint(
            batch_size=batch_size,
            parameters_bytes=self._parameters,
            gradients_bytes=self._gradients,
            optimizer_state_bytes=self._state,
            activations_bytes=training.resident_bytes,
            evaluation_bytes=evaluation.resident_bytes,
            checkpoint_bytes=checkpoint_bytes(self._parameters, self._state),
            runtime_bytes=self._runtime,
            unknown_values=training.unknown_values + evaluation.unknown_values,
        )


def answer(_: Callable[[str], None]) -> None:
    """Answer the request, see `workbench.artifacts.footprint.predict`.

    Raises:
        ArtifactsError: the artifacts cannot be read.
    """
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    artifacts = ArtifactsFolder.read(Path(request["directory"]))
    predictor = FootprintPredictor(artifacts, request["device_kernels"])
    minimum = artifacts.manifest["minimum_batch"]
    batch_size = request.get("batch_size", minimum)
    footprint, largest = predictor.footprint(batch_size), batch_size
    memory_bytes, evaluate = request.get("memory_bytes"), request.get("evaluate", True)
    if memory_bytes is not None and (
        "batch_size" not in request or footprint.budget_bytes(evaluate=evaluate) > memory_bytes
    ):
        spare_bytes = SPARE_BYTES if "batch_size" in request else 0
        largest = predictor.largest_batch(memory_bytes - spare_bytes, minimum, evaluate)
    write_json(
        Path(request["answer"]),
        {"footprint": footprint._asdict(), "largest_batch": largest},
    )


if __name__ == "__main__":
    serve(answer)
