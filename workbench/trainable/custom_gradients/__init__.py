"""Gradients that ONNX Runtime lacks or computes wrongly, one kind of node per file."""
