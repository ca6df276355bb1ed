"""ONNX Runtime's training: the only package that uses internals of onnxruntime.training."""

from __future__ import annotations

from workbench.ort.drop_in.package_names import install

__all__ = ["install"]
