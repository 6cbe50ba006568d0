"""The language server that hosts the interpreter engine."""
