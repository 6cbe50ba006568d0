"""A session in a terminal: its stream as text, the questions of its gate, its errors. The only part that prints."""
