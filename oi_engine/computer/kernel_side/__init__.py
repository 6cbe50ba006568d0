"""What runs inside the Python kernel's process, beside ``kernel_start``, which loads it under a name of its own.

These modules import the standard library and one another (relatively), and use no newer syntax than Python 3.9's.
"""
