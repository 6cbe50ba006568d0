"""Real editors, driven by keys in tmux, with the set-ups of editors/README.md."""
