"""One page of JupyterLab for many tests, since loading it takes five seconds of a processor."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Page

VIEWPORT = {"width": 1400, "height": 1300}
LIGHT = "JupyterLab Light"
CLOSE_NOTEBOOKS = """async () => {
  const app = window.jupyterapp;
  if (app !== undefined)
    for (const widget of [...app.shell.widgets("main")]) widget.dispose();
}"""
FORGET = """async theme => {
  localStorage.clear();
  if (window.jupyterapp === undefined) return false;
  window.jupyterapp.shell.expandLeft();
  if (document.body.dataset.jpThemeName !== theme)
    await window.jupyterapp.commands.execute("apputils:change-theme", { theme });
  return document.querySelector(".jp-Dialog, .jp-Notebook") === null;
}"""


class SharedPage:
    """Lends a page as JupyterLab shows it at first; what a test did to it is undone."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._page: Page | None = None

    def take(self) -> Page:
        """The page, empty before the first notebook is opened in it."""
        if self._page is None:
            self._page = self._context.new_page()
        self._page.set_viewport_size(VIEWPORT)
        return self._page

    def close_notebooks(self) -> None:
        """Close every notebook, unsaved ones too, without a question."""
        if self._page is not None:
            self._page.evaluate(CLOSE_NOTEBOOKS)

    def forget(self) -> bool:
        """Undo what the test changed; whether the page can be lent again."""
        if self._page is None:
            return False
        self._page.emulate_media(reduced_motion="null", forced_colors="null")
        return bool(self._page.evaluate(FORGET, LIGHT))

    def discard(self) -> None:
        """Close the page, so that the next test gets another one."""
        if self._page is not None:
            self._page.close()
            self._page = None
        self._context.clear_cookies()
