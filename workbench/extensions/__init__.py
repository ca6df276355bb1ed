"""The compiled extensions `extensions/*`: where they are, and whether they can be used."""
