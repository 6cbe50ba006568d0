"""An interpreter engine: a language model writes code, a person approves it, a live kernel runs it."""
