"""Times of single operators by each kernel that may run them: ONNX Runtime's, PyTorch's, ours."""
