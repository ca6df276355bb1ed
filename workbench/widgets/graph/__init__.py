"""`GraphView`: shows ONNX graphs."""
