"""Child processes that do one piece of work which may crash."""
