"""Connecting without a long wait for a host that is not there."""

import errno
import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from pycortex.cli._output import say

__all__ = ["connect", "look_for"]

FIRST = 0.1
"""Seconds that a connection may take before anybody asks why."""
TAKEN = 0.8
"""Seconds in which a host that is there has taken a connection, however long its answer takes."""


def connect(conninfo: str, *, patient: bool) -> psycopg.Connection[Any]:
    """
    Connect, in autocommit; say so when that takes longer than a moment.

    Args:
        patient: Wait for a host that isn't there as long as connect_timeout says, too.

    Raises:
        psycopg.OperationalError: It can't be reached; after a second where no host is there.
    """
    answer: list[psycopg.Connection[Any] | BaseException] = []
    done = threading.Event()

    def ask() -> None:
        try:
            answer.append(psycopg.connect(conninfo, autocommit=True))
        except BaseException as error:  # noqa: BLE001 - raised below
            answer.append(error)
        done.set()

    # A thread, which is left behind when nobody is there.
    threading.Thread(target=ask, daemon=True).start()
    asked = time.monotonic()
    if not done.wait(FIRST):
        if not patient:
            try:
                look_for(conninfo)
            except psycopg.OperationalError:
                if not done.is_set():  # else the first try has got through after all
                    raise
        if not done.wait(max(0.0, asked + FIRST + TAKEN - time.monotonic())):
            limit = conninfo_to_dict(conninfo).get("connect_timeout") or os.environ.get(
                "PGCONNECT_TIMEOUT", "however many"
            )
            say(f"no answer from the database yet; giving up after {limit} s for each of its hosts")
        done.wait()
    if isinstance(answer[0], BaseException):
        raise answer[0]
    return answer[0]


def look_for(conninfo: str) -> None:
    """
    See that some host of a connection string is there: takes a connection, or refuses one.

    What listens on a socket in the file system is there; so is, until it is found, a name.

    Raises:
        psycopg.OperationalError: None is.
    """
    places = list(_places(conninfo_to_dict(conninfo)))
    if not places or any(host.startswith(("/", "@")) for host, _ in places):
        return
    found = threading.Event()
    unknown = set(places)

    def look(place: tuple[str, str]) -> None:
        try:
            addresses = socket.getaddrinfo(*place, type=socket.SOCK_STREAM)
        except OSError:
            addresses = []  # libpq says it better
            found.set()
        unknown.discard(place)
        if _takes(addresses):
            found.set()

    for place in places:
        threading.Thread(target=look, args=[place], daemon=True).start()
    if not found.wait(TAKEN) and not unknown:
        names = " and ".join(f"{host} port {port}" for host, port in places)
        raise psycopg.OperationalError(
            f"{names}: no answer within a second; to wait longer, set PGCONNECT_TIMEOUT=10 or "
            "connect_timeout=10"
        )


def _places(params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    def given(name: str, variable: str) -> list[str]:
        return str(params.get(name) or os.environ.get(variable) or "").split(",")

    hosts, addresses = given("host", "PGHOST"), given("hostaddr", "PGHOSTADDR")
    ports = given("port", "PGPORT")
    for at in range(max(len(hosts), len(addresses))):
        host = (addresses[at] if at < len(addresses) else "") or hosts[min(at, len(hosts) - 1)]
        yield host or "/", ports[min(at, len(ports) - 1)] or "5432"


def _takes(addresses: list[Any]) -> bool:
    """Whether something at one of these addresses answers a connection in time."""
    poll, sockets = select.poll(), []
    try:
        for family, sort, protocol, _, address in addresses:
            try:
                sock = socket.socket(family, sort, protocol)
            except OSError:
                continue
            sockets.append(sock)
            sock.setblocking(False)
            sock.connect_ex(address)
            poll.register(sock, select.POLLOUT)
        until = time.monotonic() + TAKEN
        while sockets and (left := until - time.monotonic()) > 0:
            for number, _ in poll.poll(1000 * left):
                poll.unregister(number)
                (sock,) = (sock for sock in sockets if sock.fileno() == number)
                state = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if state in (0, errno.ECONNREFUSED):
                    return True
        return False
    finally:
        for sock in sockets:
            sock.close()
