"""Every setting of a training on a device is reached by the mouse, and the run has it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MakeNotebook
from tests.browser.notebook import SLOW_MS
from tests.browser.test_workbench_page import fake_cell

BASE_CELL = """
import numpy as np
from safetensors.numpy import save_file
save_file(wb.load_model("digits-mlp", seed=4).weights(), "base.safetensors")
"""

RUN_CELL = """
run = wb.load_run(wb.runs().iloc[0]["id"])
config = run.config
print(
    config.lr_schedule, config.lr_warmup_steps, config.gradient_accumulation,
    config.max_grad_norm, config.evaluate_every, config.early_stopping, config.steps,
    config.requires_grad, config.lora.rank, config.lora.targets, config.device.name,
    config.checkpoint_every, run.spec["base"]["file"].split("/")[-1],
)
"""

TYPED = {
    "Learning rate and gradients": {
        "Warm-up steps": "2",
        "Accumulate batches": "2",
        "Clip gradients to": "0.5",
    },
    "Evaluation and measuring": {
        "Evaluate every (steps)": "2",
        "Early stopping after": "3",
    },
    "Parameters": {
        "Train only": "output.*",
        "Initial weights": "base.safetensors",
        "LoRA rank": "4",
        "LoRA targets": "hidden*",
    },
    "Machine and checkpoints": {"Checkpoint every (steps)": "3"},
}
CHOSEN = {
    "Learning rate and gradients": {"Schedule": "cosine"},
    "Parameters": {"LoRA": "yes"},
    "Machine and checkpoints": {"Device": "phone"},
}


@pytest.mark.sweep
def test_schedule_accumulation_clipping_stopping_lora_base_and_device_reach_the_run(
    open_notebook: MakeNotebook,
) -> None:
    notebook = open_notebook(fake_cell(), BASE_CELL, RUN_CELL)
    notebook.run(0)
    expect(notebook.status).to_contain_text("digits-mlp is ready", timeout=SLOW_MS)
    notebook.run(1)
    page = notebook.page
    notebook.go_to("Train")
    form = page.locator(".wb-settings-form").filter(visible=True)
    form.get_by_label("Steps", exact=True).fill("6")
    for title, fields in TYPED.items():
        group = form.get_by_role("group").filter(has_text=title)
        group.locator("summary").click()
        for label, choice in CHOSEN.get(title, {}).items():
            # By the keyboard, whose letters mean other things to the notebook.
            group.get_by_label(label, exact=True).focus()
            page.keyboard.type(choice)
            expect(group.get_by_label(label, exact=True)).to_have_value(choice)
        for label, text in fields.items():
            group.get_by_label(label, exact=True).fill(text)
        given = len(fields) + len(CHOSEN.get(title, {}))
        expect(group.locator("summary")).to_contain_text(f"{given} given")
    notebook.button("Train").click()
    expect(notebook.status).to_contain_text(re.compile("complete|trained", re.IGNORECASE))
    notebook.wait_for_end()
    notebook.run(2)
    expect(notebook.output(2)).to_have_text(
        "cosine 2 2 0.5 2 3 6 ('output.*',) 4 ('hidden*',) phone 3 base.safetensors"
    )

    # What is wrong is said at its field while it is typed.
    parameters = form.get_by_role("group").filter(has_text="Parameters")
    parameters.get_by_label("LoRA rank", exact=True).fill("0")
    expect(parameters.locator("summary")).to_contain_text("1 wrong")
    parameters.get_by_label("LoRA rank", exact=True).fill("2")
    expect(parameters.locator("summary")).to_contain_text("5 given")
