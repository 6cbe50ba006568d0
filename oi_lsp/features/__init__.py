"""What commands and queries do, a module for each group of them. A module offers ``HANDLERS``, ``QUERIES`` or both."""
