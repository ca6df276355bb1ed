"""Engine statistics, as the page shows it under the results."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import SLOW_MS

CELL = """
import torch
import workbench as wb


class Hooked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(64, 32), torch.nn.Linear(32, 10)
        self.seen = 0
        self.first.register_forward_hook(self.look)

    def look(self, *_):
        self.seen += 1

    def forward(self, images):
        return self.last(self.first(images.flatten(1)).relu())


model = wb.load_model(Hooked(), example_inputs=(torch.randn(4, 1, 8, 8),))
page = wb.Workbench(engines=["pytorch", "ortmodule"])
page.show(wb.compare(model, "digits", ["pytorch", "ortmodule"], steps=12, threads=1))
page
"""


@pytest.mark.sweep
def test_statistics_of_the_engines_unfold_and_pytorch_fallbacks_are_marked(
    open_notebook: MakeNotebook,
) -> None:
    notebook = open_notebook(CELL)
    notebook.run(0)
    page = notebook.page
    expect(notebook.status).to_contain_text("Compared pytorch and ortmodule", timeout=SLOW_MS)
    table = page.get_by_role("table").filter(has_text="Peak memory")
    expect(table.get_by_role("columnheader", name="ortmodule*")).to_be_visible()
    expect(page.get_by_text("* ortmodule: PyTorch ran the module 12 times")).to_be_visible()

    heading = page.get_by_role("heading", name="Engine statistics")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="by PyTorch"))
    expect(heading).to_be_visible()
    expect(row).not_to_be_visible()
    heading.click()
    expect(row).to_contain_text("PyTorch runs the loss and the optimizer step")
