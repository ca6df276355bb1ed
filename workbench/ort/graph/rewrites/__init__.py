"""Rewrites of training graphs where ONNX Runtime computes slowly, wrongly, or not at all."""
