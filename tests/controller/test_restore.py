"""A form restored from the record of a run."""

from __future__ import annotations

from tests.runs.recorded import recorded
from workbench.controller.restore import restored
from workbench.data import Dataset
from workbench.runs import load_run


def test_kernels_chosen_by_tuning_are_in_the_settings(digits: Dataset) -> None:
    """Not in the field of `tuning`, which takes a word or a path."""
    folder = recorded(digits, "ondevice")
    spec = folder.read_spec()
    tuning = {"variant": "onnxruntime", "reason": "ONNX Runtime's kernels: 0.70; measured here"}
    spec["config"] |= {"tuning": tuning, "device_kernels": False}
    folder.write_spec(spec)
    run = load_run(folder.id)
    assert restored(run).settings["device_kernels"] is False
    assert "tuning" not in restored(run).settings
    spec["config"]["tuning"] = "off"
    folder.write_spec(spec)
    assert restored(load_run(folder.id)).settings["tuning"] == "off"
