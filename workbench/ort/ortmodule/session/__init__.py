"""Graphs loaded into ONNX Runtime, and the step that training repeats."""
