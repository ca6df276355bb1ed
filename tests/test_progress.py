"""The bar shows in a notebook's kernel, is silent elsewhere, and leaves nothing behind."""

import subprocess
import sys

import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode, v4

from workbench.progress import ProgressBar, in_notebook


def test_outside_a_notebook_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert not in_notebook()
    with ProgressBar() as bar:
        bar.show(1, 2, "training")
        bar.show_text("exporting")
    assert capsys.readouterr() == ("", "")


def test_outside_a_notebook_no_widget_library_is_loaded() -> None:
    script = (
        "import sys\n"
        "from workbench.progress import ProgressBar\n"
        "with ProgressBar() as bar: bar.show_text('x')\n"
        "assert not {'ipywidgets', 'IPython'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_in_a_notebook_the_bar_follows_and_vanishes() -> None:
    notebook = v4.new_notebook()
    notebook.cells = [
        v4.new_code_cell(
            "from workbench.progress import ProgressBar, in_notebook\n"
            "assert in_notebook()\n"
            "with ProgressBar() as bar:\n"
            "    bar.show(1, 4, 'pytorch: running')\n"
            "    print(bar._bar.value, bar._text.value)\n"
            "    box = bar._box\n"
            "print(box.comm)\n"
            "with ProgressBar() as silent:\n"  # as when something else shows the progress
            "    print(silent._box)"
        ),
        v4.new_code_cell(
            "import threading\n"
            "def work():\n"
            "    with ProgressBar() as bar:\n"
            "        bar.show(1, 4, 'pytorch: running')\n"
            "        print(bar._box)\n"
            "thread = threading.Thread(target=work)\n"
            "thread.start()\n"
            "thread.join()"
        ),
    ]
    NotebookClient(notebook, timeout=60).execute()
    printed = _stream(notebook.cells[0])
    assert printed == "0.25 pytorch: running, step 1 of 4\nNone\nNone\n"
    shown = [out["data"] for out in notebook.cells[0].outputs if out["output_type"] != "stream"]
    assert shown == [{"text/plain": ""}]
    assert _stream(notebook.cells[1]) == "None\n", "a thread has no cell of its own"
    assert len(notebook.cells[1].outputs) == 1


def _stream(cell: NotebookNode) -> str:
    return "".join(out["text"] for out in cell.outputs if out["output_type"] == "stream")
