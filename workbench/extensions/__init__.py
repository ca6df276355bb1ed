"""The compiled extensions: building them, and whether what is there is good."""
