"""Reading, checking and writing ONNX models.

onnx and torch are imported on use; onnxruntime never is.
"""
