"""What the commands do, a module for each group of them. A module offers ``HANDLERS``."""
