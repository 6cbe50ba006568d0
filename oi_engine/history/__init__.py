"""Stored conversations: the database, what writes into it, exports and imports."""
