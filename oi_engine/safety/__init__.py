"""Safety: what is kept from whom."""
