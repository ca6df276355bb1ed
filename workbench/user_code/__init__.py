"""The only place that imports or unpickles what a user names."""
