"""Times of operators by each kernel: ONNX Runtime's, PyTorch's and the workbench's."""
