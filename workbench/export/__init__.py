"""Exports an `nn.Module` to an ONNX graph that can be trained.

Importing it loads no torch; `traced`, `autograd` and `effects` do, and are imported on use.
"""
