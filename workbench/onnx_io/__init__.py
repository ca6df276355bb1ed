"""Reading, checking and writing ONNX models."""
