"""Compiles the C++ extension `extensions/torch_interop` and checks whether it can be used."""
