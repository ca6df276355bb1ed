"""Shared parts of static figures; each subpackage has its own figure (`runs.figure`, ...).

matplotlib is imported on use; nothing is read and nothing is trained.
"""
