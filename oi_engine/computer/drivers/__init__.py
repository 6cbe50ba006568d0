"""The drivers: for each language its source, and what has to be known to run it (``Driver`` in ``driver.py``)."""
