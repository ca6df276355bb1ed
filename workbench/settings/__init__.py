"""Settings of a run and their validation.

It validates and stores; it reads neither models nor data, and imports no native code.
"""
