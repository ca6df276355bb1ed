"""Compiles the C++ extensions `extensions/*` and checks whether they can be used."""
