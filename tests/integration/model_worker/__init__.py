"""The real worker with the real LiteLLM, against scripted servers on loopback."""
