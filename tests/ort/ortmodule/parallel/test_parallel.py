"""An ORTModule trains in several processes as the plain module does: DDP and fully_shard.

All of it runs once on two ranks (parallel_probe.py); the tests read what came out. One step would
hide that ranks drift apart, so each case takes several.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DataParallel

from tests.answers import Answers, probed
from tests.ort.ortmodule.calls.usage_process_group import process_group
from tests.ort.ortmodule.parallel.parallel_cases import CASES
from tests.ort.ortmodule.parallel.parallel_probe import EVENTS
from tests.representative import representative
from workbench import ORTModule
from workbench.errors import EngineError, UntrainableError

PIECES = {name: case for name, case in CASES.items() if name.startswith("ddp-pieces")}
OTHERS = {name: case for name, case in CASES.items() if name not in PIECES}
USUAL = [
    # Of "ddp", notebooks/03_scale_out.ipynb has the like.
    *representative(OTHERS, every=0, always=("ddp-join", "fully-shard-reshard", "fsdp-1")),
    *representative(PIECES, every=0, always=["ddp-pieces-tied"]),
]
TOLERANCE = 1e-6
SUMS = {"ddp-compressed-gradients": 1e-4, "ddp-pieces-compressed-gradients": 1e-4}
"""float16 rounds gradients that differ in the last bit of float32 to its own neighbours."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return trained(tmp_path_factory, 2, [*USUAL, EVENTS])


@pytest.fixture(scope="module")
def on_four_ranks(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return trained(tmp_path_factory, 4, list(CASES))


def trained(factory: pytest.TempPathFactory, ranks: int, names: list[str]) -> Answers:
    folder = factory.mktemp("parallel")
    return probed("tests.ort.ortmodule.parallel.parallel_probe", folder, str(ranks), *names)


@pytest.mark.parametrize("name", USUAL)
def test_ranks_train_as_with_the_plain_module(answers: Answers, name: str) -> None:
    assert_as_with_the_plain_module(answers[name], name)


@pytest.mark.sweep
@pytest.mark.parametrize("name", CASES)
def test_four_ranks_train_as_with_the_plain_module(on_four_ranks: Answers, name: str) -> None:
    assert_as_with_the_plain_module(on_four_ranks[name], name)


def assert_as_with_the_plain_module(answer: dict[str, Any], name: str) -> None:
    assert answer["graphs"] > 0, "nothing ran in ONNX Runtime"
    assert answer["pytorch_calls"] == []
    assert answer["found"], "isinstance finds no ORTModule among the modules"
    assert answer["difference"] <= SUMS.get(name, TOLERANCE)
    if "batch-norm" not in name:  # running statistics are those of each rank until the next step
        assert answer["ranks_apart"] == 0
    assert answer.get("one_graph_apart", 0) <= SUMS.get(name, TOLERANCE)
    assert answer.get("one_process_apart", 0) <= TOLERANCE


def test_buckets_leave_while_the_backward_pass_runs(answers: Answers) -> None:
    events = answers[EVENTS]
    runs = [place for place, event in enumerate(events) if event == "run"]
    assert len(runs) == 6, "as many pieces as layers"
    for before, after in pairwise(runs):
        assert "bucket" in events[before:after]


def test_a_wrapper_that_averages_gradients_is_refused_inside() -> None:
    around = DataParallel(nn.Linear(2, 2))
    with pytest.raises(UntrainableError, match=r"is a DataParallel.*DataParallel\(ORTModule"):
        ORTModule(around)
    with pytest.raises(UntrainableError, match="contains a DataParallel at '0'"):
        ORTModule(nn.Sequential(around, nn.ReLU()))


def test_shards_in_bfloat16_are_refused() -> None:
    """Eighty messages, one a node, hid what to do."""
    module = ORTModule(nn.Linear(4, 4))
    with process_group():
        fully_shard(module, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
        with pytest.raises(UntrainableError, match=r"'weight' and all.*torch\.autocast"):
            module(torch.randn(3, 4))


def test_shards_of_a_wrapper_that_hides_the_ort_module_are_refused() -> None:
    """It cannot see that its parameters are released after the forward pass."""
    module = ORTModule(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)))
    whole = checkpoint_wrapper(module)
    with process_group():
        fully_shard(whole, reshard_after_forward=True)
        with pytest.raises(EngineError, match=r"shard the ORTModule itself.*checkpoint_wrapper"):
            whole(torch.randn(3, 4)).sum().backward()


def test_a_parameter_that_loses_its_memory_before_backward_is_an_error() -> None:
    """Its gradient was computed from memory that had been freed."""
    module = ORTModule(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)))
    loss = module(torch.randn(3, 4)).sum()
    weight = module.wrapped[2].weight
    weight.data = weight.data.clone()
    with pytest.raises(EngineError, match=r"was replaced or freed.*reshard_after_forward=False"):
        loss.backward()
    module(torch.randn(3, 4)).sum().backward()
    assert weight.grad is not None
