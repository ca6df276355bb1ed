"""Inspects an `nn.Module`: inputs, outputs, parameters, layers and modes.

torch is imported on use; the module runs only in the process that received it.
"""
