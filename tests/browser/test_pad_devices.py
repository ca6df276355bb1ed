"""Camera and microphone of the pads: Chromium's fake ones, fed from files, and refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import CHROMIUM_FLAGS, MakeNotebook, end_kernels
from tests.browser.media_files import write_sound, write_video
from tests.browser.notebook import SLOW_MS
from tests.personalisation.recorded import drawings, words

ALLOWED = ("camera", "microphone")
WORD = words(voice=0)[0]
KEY = next(drawing for drawing in drawings(hand=0) if drawing.symbol == "key")

# The microphone says one of the words; all but one recording of that word are there already.
PADS_CELL = """
import workbench as wb
from tests.personalisation.recorded import spoken_examples
sketches = wb.SketchPad(["key", "cup"])
app = wb.Workbench("speech-commands", engines=["ondevice"], saves_notebook=False)
display(sketches, app)
"""
SPOKEN_CELL = f"""
sounds = app.trainer.own_examples.pads["speech-commands"]
sounds.load(spoken_examples(voice=0)[0].save("spoken.npz"))
sounds.remove(next(each.id for each in sounds.examples.items if each.label == {WORD.word!r}))
"""

ALONE_CELL = """
import workbench as wb
sketches = wb.SketchPad(["key", "cup"])
display(sketches, wb.SoundPad())
"""

LISTEN_TO_SPEAKERS = """() => {
    window.played = [];
    const start = AudioBufferSourceNode.prototype.start;
    AudioBufferSourceNode.prototype.start = function (...when) {
        const samples = this.buffer.getChannelData(0);
        const sound = { samples: samples.length, rate: this.buffer.sampleRate, ended: false,
            loudest: samples.reduce((most, each) => Math.max(most, Math.abs(each)), 0) };
        this.addEventListener("ended", () => { sound.ended = true; });
        window.played.push(sound);
        start.apply(this, when);
    };
}"""

CHECK_CELL = f"""
import numpy as np
from workbench.personalisation import Examples
drawn = Examples("image")
expected = drawn[drawn.add({KEY.strokes!r}, "key")].value
seen = sketches.examples.items[-1].value
correlation = np.corrcoef(seen.ravel(), expected.ravel())[0, 1]
said = Examples("audio")
said.add(np.array({WORD.sound.round(3).tolist()}), "word", rate=8000)
pair = [Examples.spectrogram(each.items[-1].value) for each in (sounds.examples, said)]
similar = np.corrcoef(pair[0].ravel(), pair[1].ravel())[0, 1]
print(correlation > 0.8 or correlation, similar > 0.7 or similar)
"""


@pytest.fixture(scope="module")
def media_browser(
    chromium: Browser, chromium_path: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Browser]:
    """A Chromium whose camera sees a key on paper and whose microphone hears a word."""
    folder = tmp_path_factory.mktemp("media")
    video = write_video(folder / "key.y4m", KEY.strokes)
    sound = write_sound(folder / "word.wav", WORD.sound, 8000)
    browser = chromium.browser_type.launch(
        executable_path=chromium_path,
        args=[
            *CHROMIUM_FLAGS,
            "--use-fake-device-for-media-stream",
            f"--use-file-for-fake-video-capture={video}",
            f"--use-file-for-fake-audio-capture={sound}",
        ],
    )
    yield browser
    browser.close()


@pytest.fixture
def permissions() -> tuple[str, ...]:
    """Permissions that the page has without a prompt."""
    return ALLOWED


@pytest.fixture
def page(media_browser: Browser, lab_url: str, permissions: tuple[str, ...]) -> Iterator[Page]:
    """A page of that Chromium; an error in its scripts fails the test."""
    context = media_browser.new_context(
        viewport={"width": 1400, "height": 1300}, permissions=[*permissions]
    )
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    end_kernels(page, lab_url)
    context.close()
    assert not problems, "\n".join(problems)


@pytest.mark.sweep
def test_a_picture_is_taken_and_a_word_recorded_played_trained_and_recognised(
    open_notebook: MakeNotebook,
) -> None:
    """The pad of sounds in the app, beneath a pad of drawings."""
    notebook = open_notebook(PADS_CELL, SPOKEN_CELL, CHECK_CELL)
    notebook.run(0)
    page = notebook.page
    notebook.go_to("Train")
    page.locator("summary", has_text="Your own examples").press("Enter")
    pad = page.locator(".wb-own-examples .wb-pad")
    expect(pad).to_be_visible(timeout=SLOW_MS)
    notebook.run(1)
    page.get_by_role("button", name="Use the camera").first.click()
    # Until the camera shows something there is nothing to take.
    page.wait_for_function(
        "() => [...document.querySelectorAll('video')].some(video => video.currentTime > 0)",
        timeout=SLOW_MS,
    )
    page.get_by_role("button", name="Add picture").click()
    expect(page.get_by_role("button", name="drawing 1 of key")).to_be_visible()
    page.get_by_role("button", name="Close the camera").click()
    expect(page.get_by_role("button", name="Add picture")).to_be_hidden()

    page.get_by_role("radio", name=re.compile(f"^{WORD.word}")).check()
    record = page.get_by_role("button", name="Record 1 s")
    record.click()
    loudness = page.get_by_role("meter", name="Loudness").first
    expect(loudness).to_have_attribute("aria-valuetext", re.compile("decibels below full scale"))
    recorded = page.get_by_role("button", name=f"recording 5 of {WORD.word}")
    expect(recorded).to_be_visible()
    expect(record).to_be_enabled()
    notebook.run(2)
    expect(notebook.output(2)).to_have_text("True True")

    page.evaluate(LISTEN_TO_SPEAKERS)
    recorded.click()
    page.get_by_role("button", name="Play", exact=True).click()
    # It is played to its end: the browser has decoded it and taken it to the speakers.
    page.wait_for_function("() => window.played.some(sound => sound.ended)", timeout=SLOW_MS)
    [sound] = page.evaluate("() => window.played")
    assert (sound["samples"], sound["rate"]) == (8000, 8000)
    assert 0.1 < sound["loudest"] <= 1

    pad.get_by_role("button", name="Fine-tune on examples").click()
    results = page.get_by_role("region", name="Evaluation on held-out recordings")
    expect(results).to_be_visible(timeout=SLOW_MS)
    expect(results.get_by_role("figure").first).to_contain_text("0 of 6 recognised")
    expect(results.get_by_role("figure").last).to_contain_text(re.compile("[56] of 6 recognised"))
    trial = page.get_by_role("region", name="Try it").filter(visible=True)
    trial.get_by_role("button", name="Listen 1 s").click()
    expect(trial.locator(".wb-verdict")).to_have_text(WORD.word)


@pytest.mark.sweep
@pytest.mark.fault
@pytest.mark.parametrize("permissions", [()], ids=["refused"])
def test_refused_camera_and_microphone_are_one_sentence_and_the_rest_works(
    open_notebook: MakeNotebook, permissions: tuple[str, ...]
) -> None:
    notebook = open_notebook(ALONE_CELL, "sketches.add([[(0, 0), (1, 1)]], 'key');")
    notebook.run(0)
    page = notebook.page
    page.get_by_role("button", name="Use the camera").first.click()
    camera = page.get_by_role("alert").filter(has_text="camera")
    expect(camera).to_have_text(
        re.compile(r"^The camera cannot be used: permission was denied; .* Drawing continues")
    )
    page.get_by_role("button", name="Record 1 s").click()
    microphone = page.get_by_role("alert").filter(has_text="microphone")
    expect(microphone).to_have_text(
        re.compile(r"^The microphone cannot be used: permission was denied; .* Importing audio")
    )
    expect(page.get_by_role("button", name="Record 1 s")).to_be_enabled()
    notebook.run(1)
    expect(page.get_by_role("button", name="drawing 1 of key")).to_be_visible()
