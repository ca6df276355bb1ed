"""From a module and one call to an ONNX graph of its forward pass."""
