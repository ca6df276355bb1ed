"""Exports one call of a module to an ONNX graph of its forward pass."""
