"""ORTModule in the trainers of other packages, where wrapping the model alone does not do.

Each file needs its package, and is imported by its own name.
"""
