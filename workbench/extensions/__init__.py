"""Compiles the C++ extensions `extensions/*` and checks whether they can be used.

It runs a compiler and loads what that made in a child process, never in this one.
"""
