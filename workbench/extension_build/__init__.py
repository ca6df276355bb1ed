"""Compiles the C++ extensions `extensions/*`.

It runs a compiler and tries what that made in a child process, never in this one.
"""
