"""Language models: what a session asks for a reply."""
