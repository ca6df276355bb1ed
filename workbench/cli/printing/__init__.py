"""Printed results, tables and progress, shared by the commands."""
