"""The protocols of systemd and other service managers: sockets that they pass, and notifications to them.

A service manager that holds the listening socket keeps accepting connections while the server restarts
(``sd_listen_fds(3)``), and learns when the server is ready, reloading or stopping (``sd_notify(3)``).
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import MutableMapping

from nonproj.errors import ConfigError
from nonproj.io.temporary import reason

FIRST_DESCRIPTOR = 3
"""Descriptor of the first socket that a service manager passes."""

log = logging.getLogger("nonproj")


def passed_sockets(environment: MutableMapping[str, str] = os.environ) -> list[socket.socket]:
    """Return the listening sockets passed to this process; remove the variables, so that workers do not see them.

    Parameters
    ----------
    environment : mapping of str
        Variables meant for another process (``LISTEN_PID``) are ignored.

    Raises
    ------
    ConfigError
        A variable is malformed, or a descriptor is not a listening stream socket.

    Examples
    --------
    >>> passed_sockets({"LISTEN_PID": "1", "LISTEN_FDS": "1"})
    []
    >>> passed_sockets({"LISTEN_FDS": "two"})
    Traceback (most recent call last):
    nonproj.errors.ConfigError: LISTEN_FDS: 'two' is not a number of sockets
    """
    pid, count, _ = (environment.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"))
    for name, value, kind in (("LISTEN_PID", pid, "process ID"), ("LISTEN_FDS", count, "number of sockets")):
        if value and not (value.isascii() and value.isdecimal() and len(value) < 10):
            raise ConfigError(name, f"{value[:100]!r} is not a {kind}")
    if not count or not pid or int(pid) != os.getpid():
        return []
    with contextlib.ExitStack() as stack:
        numbers = range(FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + int(count))
        found = [stack.enter_context(_listening(number)) for number in numbers]
        stack.pop_all()
    return found


def _listening(descriptor: int) -> socket.socket:
    """Return the socket of a descriptor, which workers do not inherit."""
    try:
        passed = socket.socket(fileno=descriptor)
    except OSError as error:
        raise ConfigError("LISTEN_FDS", f"descriptor {descriptor} is not a socket: {reason(error)}") from None
    problem = ""
    if passed.family not in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX) or passed.type != socket.SOCK_STREAM:
        problem = "is not a stream socket of the Internet or of Unix"
    elif not passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        problem = "is not a listening socket; the socket unit needs Accept=no"
    if problem:
        passed.detach()
        raise ConfigError("LISTEN_FDS", f"descriptor {descriptor} {problem}")
    passed.set_inheritable(False)
    return passed


def address_of(listener: socket.socket) -> str:
    """Return the address of a listening socket, as in log lines.

    Examples
    --------
    >>> with socket.create_server(("127.0.0.1", 0)) as listener:
    ...     address_of(listener).rpartition(":")[0]
    'http://127.0.0.1'
    """
    name = listener.getsockname()
    if not isinstance(name, tuple):
        return f"unix:{os.fsdecode(name)}"
    host, port = name[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def notify(state: str) -> None:
    """Send a state to the service manager, if there is one.

    Parameters
    ----------
    state : str
        Assignments, one per line, such as ``READY=1``.

    Examples
    --------
    >>> notify("READY=1")
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(state.encode(), f"\0{address[1:]}" if address[0] == "@" else address)
    except OSError as error:
        log.warning("cannot notify the service manager at %s: %s", address, reason(error))
