"""Code in the person's own files: what of it runs, what came of it, and what is said of it.

Imported once ``initialize`` is answered.
"""
