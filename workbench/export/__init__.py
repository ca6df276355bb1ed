"""From an `nn.Module` to an ONNX graph that can be trained."""
