"""Which library computes a family of operators: the setting, and what it does with others."""

from __future__ import annotations

import re

import pytest

from workbench.errors import ConfigError
from workbench.ort.graph.kernels.device_kernels import _FOUND, _WHOLE
from workbench.ort.graph.rewrites.standard_gradients import _WRITERS
from workbench.settings.config import make_config
from workbench.settings.engines import GraphKind
from workbench.settings.operator_kernels import (
    FAMILIES,
    LIBRARIES,
    libraries_of,
    of_device_graph,
    usual_libraries,
)
from workbench.tune.families.time_shares import OPERATORS


def test_choices_are_read_in_any_order_and_kept_in_one() -> None:
    config = make_config({"operator_kernels": "gelu=standard, attention=onnxruntime"})
    assert config.operator_kernels == ("attention=onnxruntime", "gelu=standard")
    assert make_config({"operator_kernels": config.operator_kernels[::-1]}) == config
    options = make_config({"ortmodule": {"operator_kernels": ["linear=onnxruntime"]}}).ortmodule
    assert options.operator_kernels == ("linear=onnxruntime",)


def test_without_own_kernels_a_choice_leaves_the_others_to_onnxruntime() -> None:
    assert of_device_graph(False, ()) == ()
    assert of_device_graph(True, ("gelu=standard",)) == ("gelu=standard",)
    chosen = libraries_of(of_device_graph(False, ("gelu=workbench",)))
    assert chosen.pop("gelu") == "workbench"
    others = usual_libraries(GraphKind.DEVICE, kernels=False)
    assert chosen == {family: others[family] for family in chosen}
    assert len(chosen) == len(FAMILIES[GraphKind.DEVICE]) - 1


def test_libraries_by_settings_for_all_families() -> None:
    of_all, own = (usual_libraries(GraphKind.ORTMODULE, kernels) for kernels in ("all", "off"))
    assert of_all["linear"] == of_all["gelu"] == "pytorch"
    assert (own["linear"], own["gelu"]) == ("onnxruntime", "workbench")
    assert usual_libraries(GraphKind.ORTMODULE, "dropout") == own
    without = usual_libraries(GraphKind.ORTMODULE, "off", device_kernels=False)
    assert set(without.values()) == {"onnxruntime", "standard"}
    some = usual_libraries(GraphKind.ORTMODULE, "all", device_kernels=False)
    # Those that run on PyTorch's threads stay.
    assert {family for family in some if some[family] == "workbench"} == {"max_pool", "embedding"}
    assert some["silu"] == "onnxruntime"
    left_out = usual_libraries(GraphKind.ORTMODULE, "no_linear")
    assert {family for family in of_all if of_all[family] != left_out[family]} == {
        *("linear", "attention")
    }
    assert left_out["attention"] == "workbench"
    assert usual_libraries(GraphKind.ORTMODULE, "no_products")["convolution"] == "workbench"
    assert usual_libraries(GraphKind.ORTMODULE, "auto") == of_all


def test_every_family_is_known_wherever_families_are_named() -> None:
    for graphs, families in FAMILIES.items():
        assert list(OPERATORS[graphs]) == [*families]
        for libraries in families.values():
            assert set(libraries) <= set(LIBRARIES)
            assert len(libraries) > 1
        standard = {family for family, libraries in families.items() if "standard" in libraries}
        # Of softmax only the gradient of its logarithm; a power of 1 is of no family.
        assert standard == {family for family, _ in _WRITERS.values()} - {"softmax", ""}
    own = {family for family, _ in (*_WHOLE, *_FOUND.values())}
    assert own == set(FAMILIES[GraphKind.DEVICE])
    for families in FAMILIES.values():
        assert own == {family for family, known in families.items() if "workbench" in known}


@pytest.mark.fault
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("gelo=standard", "operator_kernels='gelo=standard': .* Did you mean 'gelu'"),
        ("gelu", "gelu can be computed by workbench or standard or onnxruntime"),
        ("gelu=pytorch", "gelu can be computed by workbench or standard or onnxruntime"),
        ("gelu=standard,gelu=workbench", "names 'gelu' twice"),
        (("",), "give family=library"),
    ],
)
def test_a_wrong_choice_is_refused(given: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        make_config({"operator_kernels": given})
    assert re.search(words, str(refused.value))
    with pytest.raises(ConfigError, match="linear can be computed by pytorch or onnxruntime"):
        make_config({"ortmodule": {"operator_kernels": "linear=standard"}})
