"""Shared parts of static figures; each subpackage has its own figure (`runs.figure`, ...)."""
