"""A cache of exports in the user's cache folder."""
