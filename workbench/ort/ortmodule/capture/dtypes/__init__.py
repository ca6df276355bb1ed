"""Computes in wider types where ONNX Runtime has no kernels for half precision."""
