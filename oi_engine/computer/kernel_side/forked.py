"""What forked children of the kernel print and show reaches it by a path, and by no port."""

from __future__ import annotations

import json
import os
from typing import Any

from zmq.constants import SocketType
from zmq.eventloop.zmqstream import ZMQStream
from zmq.sugar.context import Context


def listen_by_path(thread_class: Any, connection_file: str) -> None:
    """Take what forked children print by a socket in the folder of the kernel's others, where those have paths.

    ipykernel would open a port on loopback for it, which every user of the machine can connect to.
    """
    with open(connection_file, encoding="utf-8") as file:
        if json.load(file)["transport"] != "ipc":
            return
    address = f"ipc://{os.path.dirname(connection_file)}/p"

    def set_up_pipe_in(thread: Any) -> None:
        thread._pipe_uuid = os.urandom(16)
        socket = thread.socket.context.socket(SocketType.PULL)
        socket.linger = 0
        socket.bind(address)
        thread._pipe_in = ZMQStream(socket, thread.io_loop)
        thread._pipe_in.on_recv(thread._handle_pipe_msg)

    def set_up_pipe_out(thread: Any) -> Any:
        context = Context()  # the parent's does not work after a fork
        socket = context.socket(SocketType.PUSH)
        socket.linger = 3000
        socket.connect(address)
        return context, socket

    thread_class._setup_pipe_in, thread_class._setup_pipe_out = set_up_pipe_in, set_up_pipe_out
