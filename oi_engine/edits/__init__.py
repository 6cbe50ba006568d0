"""Inline edits: hunks, their states while the document changes, what may be edited, and the request to the model."""
