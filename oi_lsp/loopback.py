"""One connection on loopback from a client of the same person, and from no web page."""

from __future__ import annotations

import logging
import os
import socket
import sys

log = logging.getLogger(__name__)

_HEADERS = b"content-"
_SAY_SECONDS = 10.0
"""Seconds that a client has to begin."""
_ESTABLISHED = "01"
"""Of a connection that was closed at the other end the system says that it is root's."""
_MAPPED = f"{0:016X}{int.from_bytes(bytes([0, 0, 255, 255]), sys.byteorder):08X}"
_TABLES = (("/proc/net/tcp", ""), ("/proc/net/tcp6", _MAPPED))
"""A client may use IPv6 for an IPv4 address (as Java does): then it is in the second one, with these words before."""


def accept(listener: socket.socket) -> socket.socket:
    """Wait for a client that begins with a header of LSP; close all connections before it.

    A web page can make a browser connect to any port of this machine, but not make it say that. On Linux the client
    must be a process of the same user, or root's; elsewhere that is not known.
    """
    while True:
        connection, address = listener.accept()
        problem = _problem(connection)
        if not problem:
            return connection
        log.warning("Closed a connection from port %d that %s.", address[1], problem)
        connection.close()


def _problem(connection: socket.socket) -> str:
    if sys.platform == "linux" and _owner(connection) not in (os.getuid(), 0):
        return "is another user's"
    connection.settimeout(_SAY_SECONDS)
    try:
        begin = connection.recv(len(_HEADERS), socket.MSG_PEEK)
    except OSError:
        return "says nothing"
    connection.settimeout(None)
    return "" if begin and _HEADERS.startswith(begin.lower()) else "does not speak LSP"


def _owner(connection: socket.socket) -> int | None:
    """The user at the other end of a connection on this machine; ``None`` where the system does not say, or not now."""
    ends = [_hexadecimal(connection.getpeername()), _hexadecimal(connection.getsockname())]
    for table, before in _TABLES:
        wanted = [*(before + end for end in ends), _ESTABLISHED]
        with open(table, encoding="ascii") as rows:
            # sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid …, see proc(5)
            for row in map(str.split, rows):
                if row[1:4] == wanted:
                    return int(row[7])
    return None


def _hexadecimal(address: tuple[str, int]) -> str:
    number = int.from_bytes(socket.inet_aton(address[0]), sys.byteorder)
    return f"{number:08X}:{address[1]:04X}"
