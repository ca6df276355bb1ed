"""Compiles the C++ extensions, `extensions/torch_interop` and `extensions/device_kernels`.

It runs a compiler and tries what that made in a child process, never in this one.
"""
