"""Inspects an `nn.Module`: inputs, outputs, parameters, layers and modes."""
