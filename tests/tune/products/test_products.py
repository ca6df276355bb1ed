"""The products that set-up times, so that the first run on a machine knows the faster ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.cli.commands.extensions import build_extensions
from workbench.doctor.kernels import tuning_finding
from workbench.errors import EngineError
from workbench.extensions.native_extension import DEVICE_KERNELS, native_extension
from workbench.tune import products
from workbench.tune.products import ensure_product_times
from workbench.tuning_results.product_times import kept_product_times, product_times_path


@pytest.fixture(autouse=True)
def cache(
    tmp_path: Path, extension_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> pytest.MonkeyPatch:
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(extension_cache))
    return monkeypatch


def test_they_are_measured_once(
    cache: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    times = ensure_product_times(said.append)
    assert times is not None
    assert times == kept_product_times()
    assert said == ["Timing matrix products"]
    sentence = times.sentence(own_kernels=not native_extension(DEVICE_KERNELS).problem)
    assert sentence in tuning_finding().detail
    build_extensions()
    assert f"{sentence}." in " ".join(capfd.readouterr().out.split())
    for own, limit in ((True, 1.2), (False, 0.85)):
        whose = "ONNX Runtime's" if times.ratio < limit else "PyTorch's"
        chosen = times.sentence(own_kernels=own)
        assert chosen.startswith(f"Linear layers of ORTModule use {whose} products")
    assert ensure_product_times(said.append) == times
    assert len(said) == 1
    # What is of other versions does not count as kept.
    path = product_times_path()
    assert path is not None
    path.write_text(path.read_text().replace('"torch": "', '"torch": "0.'), encoding="utf-8")
    cache.setattr(products, "run_child", lambda *args, **kwargs: said.append("again"))
    assert ensure_product_times(said.append) is None
    assert said[1:] == ["Timing matrix products", "again"]


@pytest.mark.fault
def test_nothing_is_measured_where_nothing_can_be_chosen_or_kept(
    cache: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cache.setattr(products, "run_child", lambda *args, **kwargs: pytest.fail("measured"))
    with cache.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert ensure_product_times(print) is None, "without the compiled extension"
    with cache.context() as patch:
        patch.setenv("WORKBENCH_CACHE", "off")
        assert ensure_product_times(print) is None


@pytest.mark.fault
def test_a_failed_measurement_does_not_stop_set_up(
    cache: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(*args: object, **kwargs: object) -> None:
        raise EngineError("The process was killed.")

    cache.setattr(products, "run_child", fails)
    build_extensions(if_possible=True)
    said = capfd.readouterr()
    assert "Matrix products were not timed. The process was killed." in said.err
    assert said.out.count("Already built") == 2
    with pytest.raises(EngineError, match="The process was killed"):
        build_extensions()
