"""The app: its steps behind a tab bar, its app bar, status and buttons."""
