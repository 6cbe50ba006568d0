"""Magic commands: messages that begin with ``%`` are for the program and not for the model."""
