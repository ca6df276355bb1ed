"""The app: its steps behind a rail of tabs, its bar, status and buttons."""
