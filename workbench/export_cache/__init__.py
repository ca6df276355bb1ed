"""Exports of earlier runs, kept in the user's cache folder."""
