"""What the step Model says where there is nothing yet, and of its fields."""

from __future__ import annotations

CARD_HINT = "Choose a sample, a module of this notebook, an .onnx file or package.module:factory."
LAYERS_HINT = "The layers of the model that you choose appear here."
LOADING_HINT = "Building the model to list its layers …"
DATA_HINT = "Rows of the dataset appear here once one is chosen; samples bring their own."

OF_EXAMPLE_INPUTS = "Array or tensor, batch first; several: a, b"
NEEDED_INPUTS = f"Needed now. {OF_EXAMPLE_INPUTS}"
"""Where the chosen model cannot do without."""
