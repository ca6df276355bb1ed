"""A picture as the data of a notebook's output, with what it shows in words."""

from __future__ import annotations

import base64
from html import escape


def picture_data(png: bytes, words: str, css_class: str = "") -> dict[str, str]:
    """The data of an output that shows a picture.

    Of a picture alone, JupyterLab and nbconvert show no text in its place; HTML, which they prefer,
    has one. The picture beside it is for those who show no HTML, such as LaTeX.

    Args:
        png: the picture.
        words: what it shows, as plain text.
        css_class: by which a style sheet finds it.
    """
    encoded = base64.b64encode(png).decode("ascii")
    named = f'class="{css_class}" ' if css_class else ""
    html = f'<img {named}alt="{escape(words)}" src="data:image/png;base64,{encoded}">'
    return {"text/html": html, "image/png": encoded, "text/plain": words}
