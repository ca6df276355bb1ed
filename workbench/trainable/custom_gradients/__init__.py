"""Gradients that ONNX Runtime lacks or computes wrongly, one kind of node per file.

Each is listed in `workbench.trainable.registry`.
"""
