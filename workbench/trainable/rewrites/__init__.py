"""Rewrites of the graph: each writes one kind of node in operators that can be differentiated.

Each is listed in `workbench.trainable.registry`.
"""
