"""Operators of PyTorch written in ONNX where torch's exporter has none that trains."""
