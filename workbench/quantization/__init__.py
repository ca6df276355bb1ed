"""Quantization of trained models to int8, in a child process, with the loss of accuracy.

`quantize` runs `python -m workbench.quantization REQUEST.json`: it quantizes an exported model,
calibrated with rows of the training split, and evaluates both models on the test split.
"""

from __future__ import annotations

from workbench.quantization.quantize import quantize
from workbench.quantization.result import Evaluated, Quantized

__all__ = ["Evaluated", "Quantized", "quantize"]
