"""The gallery without a browser: what is drawn or recorded is shown, changed, saved and loaded."""

from __future__ import annotations

import queue
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.widgets.pads.browser_side import PATIENCE_S, send, strokes
from workbench.errors import DataError
from workbench.personalisation import Examples
from workbench.widgets.pads import SketchPad, SoundPad, TextPad

SLASH = [[(0.1, 0.9), (0.9, 0.1)]]
RING = [[(np.cos(angle), np.sin(angle)) for angle in np.linspace(0, 6.3, 30)]]


def tone(hertz: float, rate: int = 16000) -> np.ndarray:
    """A second of sound, loudest in its middle, float32."""
    times = np.arange(rate) / rate
    shape = np.exp(-(((times - 0.5) / 0.15) ** 2))
    return (0.5 * shape * np.sin(2 * np.pi * hertz * times)).astype(np.float32)


def labels(pad: Any) -> list[str]:
    return [item["label"] for item in pad.items]


def test_a_click_and_a_call_add_the_same_drawing() -> None:
    pad = SketchPad(["slash", "ring"])
    try:
        pad.add(SLASH, "slash")
        content, points = strokes(*SLASH)
        send(pad, {"kind": "add_drawing", "label": "slash", **content}, points)
        assert labels(pad) == ["slash", "slash"]
        pictures = np.frombuffer(pad.thumbnails, np.uint8).reshape(2, 28, 28)
        np.testing.assert_array_equal(pictures[0], pictures[1])
        # From the lower left to the upper right, where paper and ink are 0 and 255.
        assert pictures[0, 24, 3] == pictures[0, 3, 24] == 255
        assert pictures[0, 3, 3] == 0
        assert pad.thumbnail_size == [28, 28]
    finally:
        pad.close()


def test_relabel_remove_and_undo() -> None:
    pad = SketchPad(["slash", "ring"])
    try:
        assert not pad.can_undo
        first, second = pad.add(SLASH, "slash"), pad.add(RING, "slash")
        send(pad, {"kind": "relabel", "id": second, "label": "ring"})
        assert labels(pad) == ["slash", "ring"]
        send(pad, {"kind": "remove", "id": first})
        assert labels(pad) == ["ring"]
        send(pad, {"kind": "undo"})
        assert labels(pad) == ["slash", "ring"]
        assert [item["id"] for item in pad.items] == [first, second]
        assert [pad.undo() for _ in range(4)] == [True, True, True, False]
        assert (labels(pad), pad.can_undo) == ([], False)
    finally:
        pad.close()


def test_classes_are_added_renamed_and_removed_with_their_examples() -> None:
    pad = SketchPad()
    try:
        assert pad.classes == ["A", "B", "C"]
        pad.add(SLASH, "B")
        send(pad, {"kind": "rename_class", "label": "B", "name": "slash"})
        assert (pad.classes, labels(pad)) == (["A", "slash", "C"], ["slash"])
        send(pad, {"kind": "add_class", "label": "ring"})
        send(pad, {"kind": "remove_class", "label": "slash"})
        assert (pad.classes, labels(pad)) == (["A", "C", "ring"], [])
        pad.undo()
        assert (pad.classes, labels(pad)) == (["A", "slash", "C", "ring"], ["slash"])
    finally:
        pad.close()


def test_a_file_of_one_pad_is_loaded_by_another_by_path_and_by_browser(tmp_path: Path) -> None:
    pad, other = SketchPad(["slash"]), SketchPad(["ring"])
    sent: list[tuple[dict[str, Any], list[bytes]]] = []
    try:
        pad.add(SLASH, "slash")
        path = pad.save(tmp_path / "mine.npz")
        other.add(RING, "ring")
        other.load(path)
        assert labels(other) == ["ring", "slash"]
        assert other.classes == ["ring", "slash"]
        pad.send = lambda content, buffers: sent.append((content, buffers))
        send(pad, {"kind": "download"})
        [(content, [file])] = sent
        assert content == {"kind": "file", "name": "image-examples.npz"}
        send(other, {"kind": "upload", "name": "mine.npz"}, file)
        assert labels(other) == ["ring", "slash", "slash"]
        assert len({item["id"] for item in other.items}) == 3
        other.undo()
        assert labels(other) == ["ring", "slash"]
        assert labels(SketchPad(examples=path)) == ["slash"]
    finally:
        pad.close()
        other.close()


def test_a_text_is_saved_and_loaded_by_path_and_by_browser(tmp_path: Path) -> None:
    pad, other = TextPad("Mine, ü."), TextPad()
    sent: list[tuple[dict[str, Any], list[bytes]]] = []
    try:
        path = pad.save(tmp_path / "mine.npz")
        assert [item.value for item in Examples.load(path).items] == ["Mine, ü."]
        other.load(path)
        assert other.text == "Mine, ü."
        pad.send = lambda content, buffers: sent.append((content, buffers))
        # What was typed comes with the command, as the traits may still be on their way.
        send(pad, {"kind": "download", "text": "Mine, ü. More.", "prompt": "Mi"})
        [(content, [file])] = sent
        assert content == {"kind": "file", "name": "text-examples.npz"}
        assert pad.prompt == "Mi"
        upload = {"kind": "upload", "name": "mine.npz", "text": "Yours.", "prompt": ""}
        send(other, upload, file)
        assert (other.text, other.problem) == ("Yours.\nMine, ü. More.", "")
    finally:
        pad.close()
        other.close()


@pytest.mark.fault
def test_values_that_are_no_text_are_neither_saved_nor_loaded(tmp_path: Path) -> None:
    sketches, long = Examples("image"), Examples("text")
    sketches.add(SLASH, "slash")
    long.add("x" * 99_999)
    pad = TextPad()
    try:
        send(pad, {"kind": "download", "text": "", "prompt": ""})
        assert (pad.problem_at, "text" in pad.problem) == ("examples", True)
        with pytest.raises(DataError, match="kind 'image' cannot be added to 'text'"):
            pad.load(sketches.save(tmp_path / "sketches.npz"))
        upload = {"kind": "upload", "name": "a.npz", "text": "kept", "prompt": ""}
        send(pad, upload, long.save(tmp_path / "a.npz").read_bytes())
        assert (pad.text, "100,004 characters" in pad.problem) == ("kept", True)
    finally:
        pad.close()


@pytest.mark.fault
def test_examples_of_another_kind_are_refused(tmp_path: Path) -> None:
    sounds = Examples("audio")
    sounds.add(tone(440), "tone", rate=16000)
    path = sounds.save(tmp_path / "sounds.npz")
    with pytest.raises(DataError, match="kind 'audio'; a SketchPad takes 'image'"):
        SketchPad(examples=sounds)
    pad = SketchPad()
    try:
        send(pad, {"kind": "upload", "name": "sounds.npz"}, path.read_bytes())
        assert "Examples of kind 'audio' cannot be added" in pad.problem
        send(pad, {"kind": "upload", "name": "torn.npz"}, path.read_bytes()[:100])
        assert "torn.npz" in pad.problem
        assert str(tmp_path) not in pad.problem
        assert pad.items == []
    finally:
        pad.close()


def test_recordings_are_shown_as_spectrograms_and_played() -> None:
    pad = SoundPad(["low", "high"])
    sent: list[tuple[dict[str, Any], list[bytes]]] = []
    try:
        low = pad.add(tone(300), "low", rate=16000)
        send(pad, {"kind": "add_sound", "label": "high", "rate": 16000}, tone(3000))
        width, height = pad.thumbnail_size
        pictures = np.frombuffer(pad.thumbnails, np.uint8).reshape(2, height, width)
        loudest = pictures.max(axis=2).argmax(axis=1)
        # High frequencies are on top.
        assert loudest[0] > height / 2 > loudest[1]
        pad.send = lambda content, buffers: sent.append((content, buffers))
        send(pad, {"kind": "play", "id": low})
        [(content, [samples])] = sent
        assert content == {"kind": "sound", "rate": 8000}
        heard = np.frombuffer(samples, "<f4")
        spectrum = np.abs(np.fft.rfft(heard))
        assert abs(int(spectrum.argmax()) - 300) <= 2
        assert np.abs(heard).max() <= 1
    finally:
        pad.close()


def test_without_a_kernel_a_reader_sees_a_sentence() -> None:
    pad = SketchPad()
    try:
        bundle = pad._repr_mimebundle_()
        assert bundle is not None
        assert bundle[0]["text/plain"] == "SketchPad: run this cell in JupyterLab to use it."
    finally:
        pad.close()


@pytest.mark.parametrize(("make", "kind"), [(SketchPad, "image"), (SoundPad, "audio")])
def test_a_pad_that_is_shown_prepares_with_its_settings(
    make: type[SketchPad | SoundPad], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: queue.Queue[tuple[str, dict[str, object]]] = queue.Queue()
    monkeypatch.setattr(
        "workbench.controller.jobs.personaliser.prepare",
        lambda kind, **settings: prepared.put((kind, settings)),
    )
    pad = make(steps=3)
    try:
        assert prepared.empty()
        pad._ipython_display_()
        assert prepared.get(timeout=PATIENCE_S) == (kind, {"steps": 3})
    finally:
        pad.close()


@pytest.mark.fault
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: SketchPad("ab"), "classes='ab': give a list of labels"),
        (lambda: SketchPad(5), "classes=5: give a list of labels"),
        (lambda: TextPad(5), "text=5: give a str"),
        (lambda: TextPad("a", prompt=5), "prompt=5: give a str"),
    ],
)
def test_a_pad_of_something_else_is_a_sentence(make: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        make()
