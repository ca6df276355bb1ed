"""Objects of the notebook: what can be used is found, and nothing is run to find it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from workbench.controller.model.namespace import look, own_names
from workbench.controller.model.sources import Sources, complete
from workbench.controller.model.target_names import csv_columns, target_names, targets_to_choose
from workbench.errors import DataError, ModelError
from workbench.load import load_dataset, load_model


class Shy(torch.nn.Linear):
    """A module that raises when it is looked at."""

    def parameters(self, recurse: bool = True) -> Any:
        raise RuntimeError("not now")


class ShyRows(torch.utils.data.Dataset[int]):
    """A dataset that raises when it is looked at."""

    def __len__(self) -> int:
        raise RuntimeError("not now")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("not now")


class Unspeakable(np.ndarray):
    """Has no shape."""

    @property
    def shape(self) -> Any:  # type: ignore[override]
        raise RuntimeError("not now")


class Trap:
    """Raises at any attribute, its class included."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")


def names() -> dict[str, Any]:
    return {
        "net": torch.nn.Linear(4, 3),
        "x": np.zeros((6, 4), np.float32),
        "y": np.array([0, 1, 2] * 2),
        "data": load_dataset("digits"),
        "model": load_model("digits-mlp"),
        "number": 7,
        "Linear": torch.nn.Linear,
        "_hidden": np.zeros(3),
    }


def test_models_datasets_and_arrays_are_found() -> None:
    found = look(names())
    assert {each.name: each.kind for each in found} == {
        "net": "model",
        "x": "array",
        "y": "array",
        "data": "dataset",
        "model": "model",
    }
    details = {each.name: each.detail for each in found}
    assert details["net"] == "Linear, 15 parameters"
    assert details["x"] == "ndarray of shape (6, 4)"
    assert details["data"].startswith("Dataset 'digits', ")


def test_names_added_by_ipython_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shell = SimpleNamespace(user_ns_hidden={"exit": exit, "Out": {}})
    monkeypatch.setitem(
        sys.modules,
        "IPython",
        SimpleNamespace(get_ipython=lambda: shell),  # type: ignore[arg-type]
    )
    main = SimpleNamespace(exit=exit, Out="mine", x=1)
    monkeypatch.setitem(sys.modules, "__main__", main)  # type: ignore[arg-type]
    assert own_names() == {"Out": "mine", "x": 1}


def test_a_missing_csv_file_is_reported_before_its_target(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no\.csv does not exist"):
        Sources(dict).dataset(str(tmp_path / "no.csv"), None)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "it is empty"), (b"\n\n", "it is empty"), (b"\xff\x00", "not text")],
)
def test_a_csv_file_without_columns_is_reported_as_such(
    tmp_path: Path, content: bytes, message: str
) -> None:
    """Not by a request to choose one of its columns, of which there are none."""
    (tmp_path / "no.csv").write_bytes(content)
    with pytest.raises(DataError, match=message):
        Sources(dict).dataset(str(tmp_path / "no.csv"), None)


@pytest.mark.fault
def test_objects_are_found_without_their_own_code() -> None:
    """Which may raise, or take long: of each keystroke in a field every object is looked at."""
    dumb = np.zeros(3).view(Unspeakable)
    found = look({"trap": Trap(), "shy": Shy(2, 2), "rows": ShyRows(), "dumb": dumb})
    assert [(each.name, each.detail) for each in found] == [
        ("shy", "Shy, 6 parameters"),
        ("rows", "ShyRows"),
        ("dumb", "Unspeakable"),
    ]


@pytest.mark.fault
def test_a_script_that_ends_the_program_when_it_is_imported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_script.py").write_text("import sys\nsys.exit('usage: --lr')\n")
    (tmp_path / "late_exit.py").write_text("def build():\n    raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match=r"ends the program when it is imported .*usage: --lr"):
        Sources(dict).model("a_script:build")
    with pytest.raises(ModelError, match="late_exit:build raised SystemExit: 3"):
        Sources(dict).model("late_exit:build")
    with pytest.raises(ModelError, match=r"sys:exit raised SystemExit$"):
        Sources(dict).model("sys:exit")


@pytest.mark.fault
def test_a_module_that_ends_the_program_in_forward_is_refused() -> None:
    class Quits(torch.nn.Linear):
        def forward(self, input: Any) -> Any:  # noqa: A002
            raise SystemExit(3)

    own = {"net": Quits(4, 3), "x": np.zeros((6, 4), np.float32)}
    with pytest.raises(ModelError, match="SystemExit: 3"):
        Sources(lambda: own).model("net", "x")


def test_a_module_of_the_notebook_is_loaded_by_its_name_with_its_example_input() -> None:
    own = names()
    sources = Sources(lambda: own)
    model = sources.model("net", "x")
    assert model.name == "net"
    assert model.parameters["weight"] == (3, 4)
    assert sources.model("model") is own["model"]
    assert sources.dataset("data", None) is own["data"]
    assert len(sources.dataset("x, y", model).train.inputs) == 1
    assert sources.dataset("", sources.model("digits-mlp")).name == "digits"


def test_an_example_input_that_was_left_is_none_of_a_sample_or_a_model() -> None:
    own = names()
    sources = Sources(lambda: own)
    assert sources.model("digits-mlp", "x, gone").name == "digits-mlp"
    assert sources.model("model", "gone") is own["model"]


@pytest.mark.fault
@pytest.mark.parametrize(
    ("model", "example", "sentence"),
    [
        ("net", "", r"name an example input, .* in the field Example input\."),
        ("net", "torhc", r"The notebook has no 'torhc'\. (?!Did you mean)"),
        ("net", "z", "The notebook has no 'z'"),
        ("Linear", "", r"is a class of the notebook: .* net = Linear\(\)"),
        ("number", "", "number is of type int in the notebook, which is no model"),
    ],
)
def test_missing_sources_are_reported_in_a_sentence(
    model: str, example: str, sentence: str
) -> None:
    with pytest.raises(ModelError, match=sentence):
        Sources(names).model(model, example)
    with pytest.raises(DataError, match="No dataset is chosen"):
        Sources(names).dataset("", None)
    own = load_model(torch.nn.Linear(3, 2), example_inputs=np.ones((2, 3)), name="own")
    with pytest.raises(DataError, match="own has no dataset of its own: pick a sample, or type"):
        Sources(names).dataset("", own)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("dataset", "sentence"),
    [
        ("x", r"x has no target of its own: .* as in X, y\."),
        ("pair", r"pair is a tuple: .* as in X, y\."),
        ("x, z", r"The notebook has no 'z'\. Known: data, x, y\. Or make it in a cell\."),
    ],
)
def test_a_dataset_of_arrays_needs_two_names(dataset: str, sentence: str) -> None:
    own = names() | {"pair": (np.zeros((6, 4)), np.zeros(6))}
    with pytest.raises(DataError, match=sentence):
        Sources(lambda: own).dataset(dataset, None)


@pytest.mark.fault
def test_an_unknown_name_is_refused_with_those_of_the_notebook() -> None:
    with pytest.raises(DataError, match=r"No dataset 'nosuch': .* In the notebook: .*\bx\b.*\.$"):
        Sources(names).dataset("nosuch", None)
    with pytest.raises(ModelError, match=r"No model 'nosuch': .* In the notebook: .*\bnet\b.*\.$"):
        Sources(names).model("nosuch")
    with pytest.raises(ModelError) as refused:
        Sources(names).model("no/such.onnx")
    assert "notebook" not in str(refused.value)
    assert "cell" not in str(refused.value)
    with pytest.raises(ModelError, match=r"A model of that name can also be made in a cell\.$"):
        Sources(dict).model("nosuch")


@pytest.mark.fault
def test_a_factory_of_a_bare_module_asks_for_the_field_of_its_example_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bare_factory.py").write_text(
        "import torch\ndef make():\n    return torch.nn.Linear(4, 3)\n"
        "def fail():\n    raise ValueError('Net needs example_inputs of its own')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    sources = Sources(names)
    with pytest.raises(ModelError, match=r"^bare_factory:make returns .* field Example input\.$"):
        sources.model("bare_factory:make")
    assert sources.model("bare_factory:make", "x").parameter_count == 15
    # Not told by the words, which the factory's own error may have too.
    with pytest.raises(ModelError, match="raised ValueError: Net needs example_inputs of its own"):
        sources.model("bare_factory:fail")


@pytest.mark.fault
def test_an_example_input_is_a_name() -> None:
    sources = Sources(lambda: {"net": torch.nn.Linear(4, 3)})
    with pytest.raises(ModelError, match=r"no 'z'\. Make an array or a tensor of that name"):
        sources.model("net", "z")
    with pytest.raises(
        ModelError, match=r"no .torch\.zeros\(2, 4\).\. Only names are taken: make it in"
    ):
        sources.model("net", "torch.zeros(2, 4)")


def test_paths_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets").mkdir()
    for name in ("a.onnx", "b.txt", "nets/c.onnx"):
        (tmp_path / name).touch()
    assert complete("", (".onnx",)) == ["a.onnx"]
    assert complete("./", (".onnx",)) == ["./a.onnx", "./nets/"]
    assert complete("ne", (".onnx",)) == ["nets/"]
    assert complete("nets/C", (".onnx",)) == ["nets/c.onnx"]
    assert complete("nowhere/", (".onnx",)) == []
    monkeypatch.setenv("HOME", str(tmp_path))
    assert complete("~/nets/", (".onnx",)) == ["~/nets/c.onnx"]
    for nonsense in ("a\0b/", "~no-such-user/", "x" * 10_000 + "/"):
        assert complete(nonsense, (".onnx",)) == []


def test_columns_are_read_of_files_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    assert csv_columns("~/a.csv") == ["x", "y"]
    os.mkfifo(tmp_path / "pipe.csv")  # would block whoever opens it
    (tmp_path / "folder.csv").mkdir()
    for name in ("~/pipe.csv", "~/folder.csv", "a\0b.csv", "~no-such-user/a.csv"):
        assert csv_columns(name) == []
    np.savez(tmp_path / "a.npz", x=np.ones(2), y=np.ones(2))
    np.savez(tmp_path / "b.npz", x=np.ones(2), kind=np.ones(2))
    assert target_names("~/a.npz") == ["x", "y"]
    assert targets_to_choose("~/a.npz") == [], "y is taken"
    assert targets_to_choose("~/b.npz") == ["x", "kind"]
    os.mkfifo(tmp_path / "pipe.npz")
    (tmp_path / "torn.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-30])
    for name in ("~/pipe.npz", "~/torn.npz", "a\0b.npz", "digits", ""):
        assert target_names(name) == []
