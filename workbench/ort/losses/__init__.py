"""Losses as nodes of an ONNX graph."""
