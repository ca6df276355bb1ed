"""The compiled C++ extensions: where they are, and whether they can be used."""
