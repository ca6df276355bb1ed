"""What a figure hands to a notebook: a picture, and words for those who do not see it."""

from __future__ import annotations

import base64

import nbformat
from bs4 import BeautifulSoup
from IPython.core.formatters import DisplayFormatter
from nbconvert import HTMLExporter

from workbench.figures.notebook_figure import NotebookFigure
from workbench.figures.static_figure import caption, label, make_figure

WORDS = 'a & "b" on fake. Loss, Memory. batch 10, 1 thread. * by PyTorch'


def drawn() -> NotebookFigure:
    figure, (loss, memory) = make_figure(2, 'a & "b" on fake')
    label(loss, "Loss", "loss of the batch")
    label(memory, "Memory", "MB")
    caption(figure, "batch 10, 1 thread.\n* by PyTorch")
    return figure


def test_words_are_title_charts_and_caption() -> None:
    assert drawn().words == WORDS


def test_a_sentence_that_was_wrapped_is_whole_in_the_words() -> None:
    figure = drawn()
    figure.suptitle("a title\nit is twice\nas fast")
    figure.title_sentences = ("a title", "it is twice as fast.")
    assert figure.words.startswith("a title. it is twice as fast. Loss, Memory. ")


def test_the_picture_has_an_alternative_text_in_a_notebook_and_in_what_nbconvert_makes() -> None:
    data, metadata = DisplayFormatter().format(drawn())  # type: ignore[no-untyped-call]
    assert set(data) == {"text/html", "image/png", "text/plain"}
    assert data["text/plain"] == WORDS
    png = data["image/png"]
    encoded = png if isinstance(png, str) else base64.b64encode(png).decode()
    assert base64.b64decode(encoded).startswith(b"\x89PNG")
    output = nbformat.v4.new_output("display_data", data, metadata=metadata)
    cell = nbformat.v4.new_code_cell("run.plot()", outputs=[output])
    html, _ = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
    [picture] = BeautifulSoup(html, "html.parser").select(".jp-OutputArea-output img")
    assert picture["alt"] == WORDS
    assert picture["src"] == f"data:image/png;base64,{encoded}"
