"""Inspects an `nn.Module`: inputs, outputs, parameters, layers and modes.

torch is imported on use; the module runs, if at all, in the process that was given it.
"""
