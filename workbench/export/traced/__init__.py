"""Replacements of functions of torch while a module is traced for export."""
