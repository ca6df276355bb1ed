"""Builds the artifacts of a model in a child process, where torch may be imported."""
