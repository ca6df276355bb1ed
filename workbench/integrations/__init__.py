"""ORTModule in the trainers of other packages, where wrapping the model is not enough.

Each file needs its package, and is imported by its own name.
"""
