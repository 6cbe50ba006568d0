"""What is said of a turn that ends in the middle: by the turn itself, or where its conversation is opened again."""

from __future__ import annotations

NOT_RUN = "The turn was cut off here; the code did not run."
CUT_OFF = "Cut off in mid-run: how far it came is not known. Its variables are gone."


def interrupted(when: str) -> str:
    """Why the turn failed. ``when``: "while the model answered", for example."""
    return f"Interrupted {when}: the server ended. What had come is kept; the variables of its kernels are gone."
