"""The Python API, with functions as models and classes as languages."""
