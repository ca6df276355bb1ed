"""Follows the job in progress: how it comes to the views, and how often."""
