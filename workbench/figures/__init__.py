"""Shared parts of static figures; each subpackage has its own figure (`runs.figures`, ...).

matplotlib is imported on use; nothing is read and nothing is trained.
"""
