"""A description of a graph in other formats: binary, SVG and Model Explorer's JSON."""
