"""The protocol in the languages of the clients of this project, made from ``oi_lsp.protocol``."""
