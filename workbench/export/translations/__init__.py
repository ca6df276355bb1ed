"""Translations of PyTorch operators to ONNX where torch's exporter has none that trains."""
