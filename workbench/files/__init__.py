"""Files and folders that somebody names: read, written and locked so that nothing is lost."""
