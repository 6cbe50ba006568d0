"""Leaves that keep what is shown, stored and logged harmless."""
