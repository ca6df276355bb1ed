"""What is asked of an `nn.Module`: its inputs, outputs, parameters, layers and modes."""
