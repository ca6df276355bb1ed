"""With `pytorch_kernels="auto"`, the library whose products were measured faster runs them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.fork_server import forked

ROOT = Path(__file__).parents[4]

SCRIPT = """
import copy, json, os, torch
from torch import nn
from workbench import ORTModule
from workbench.tuning_results.product_times import keep_product_times, kept_product_times

plain = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
x = torch.randn(64, 64)
plain(x).square().sum().backward()
wanted = [parameter.grad for parameter in plain.parameters()]

def trained(**options):
    module = copy.deepcopy(plain)
    module.zero_grad()
    wrapped = ORTModule(module, options=options)
    wrapped(x).square().sum().backward()
    found = [parameter.grad for parameter in module.parameters()]
    difference = max(
        float((one - other).abs().max() / other.abs().max()) for one, other in zip(found, wanted)
    )
    report = {each.option: each.reason for each in wrapped.options_report}
    return [report["pytorch_kernels"], difference, report["device_kernels"]]

threads = torch.get_num_threads()
answer = {"measured": trained(), "threads": torch.get_num_threads() == threads}
kept = kept_product_times()
answer["kept"] = kept.ratio
answer["again"] = trained()
for name, ratio in (("pytorch", 2.0), ("onnxruntime", 0.5)):
    keep_product_times(kept.model_copy(update={"ratio": ratio}))
    answer[name] = trained()
answer["without own"] = trained(device_kernels=False)
del os.environ["OMP_WAIT_POLICY"]
answer["spinning"] = trained()
answer["spinning without own"] = trained(device_kernels=False)
print(json.dumps(answer))
"""


@pytest.fixture(scope="module")
def answer(
    extension_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str | float]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_CACHE_HOME", str(extension_cache))
        patch.setenv("OMP_WAIT_POLICY", "PASSIVE")
        done = subprocess.run(
            forked("-c", SCRIPT), stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT
        )
    found: dict[str, list[str | float]] = json.loads(done.stdout)
    return found


def test_it_is_measured_once_and_kept(answer: dict[str, list[str | float]]) -> None:
    assert answer["kept"]
    assert answer["threads"]
    assert "measured on this processor" in str(answer["measured"][0])
    assert answer["measured"][0] == answer["again"][0]


@pytest.mark.parametrize("name", ["measured", "onnxruntime", "pytorch", "without own"])
def test_gradients_are_pytorchs(name: str, answer: dict[str, list[str | float]]) -> None:
    assert float(answer[name][1]) < 1e-5


def test_the_measurement_decides(answer: dict[str, list[str | float]]) -> None:
    no_linear, own = "and no linear layer or attention", "they run 0 nodes, of Dropout alone"
    assert str(answer["onnxruntime"][0]).startswith(own)
    assert str(answer["onnxruntime"][2]).startswith("they run ")
    assert no_linear in str(answer["without own"][0])
    for name in ("pytorch", "spinning without own"):
        assert own not in str(answer[name][0])
        assert no_linear not in str(answer[name][0])
    assert str(answer["spinning"][0]).startswith(own), "they gain more than the waiting takes"
    for name in ("spinning", "spinning without own"):
        assert "set OMP_WAIT_POLICY=PASSIVE" in str(answer[name][0])
