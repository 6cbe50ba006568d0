"""Profiles: the files that settings come from, read and watched."""
