"""Inline edits in the language server: asked for, shown, accepted and rejected, hunk by hunk."""
