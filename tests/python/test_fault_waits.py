"""Every wait for the network has a limit, down to the sockets."""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
from contextlib import suppress

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import pycortex
from pycortex import Runner, Worker, registry
from tests.runners import Gate
from tests.waiting import wait_until


def sockets_to(port):
    """Copies of this process's connections to a port."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # it may be closed by now
            if not stat.S_ISSOCK(os.stat(f"/proc/self/fd/{name}").st_mode):
                continue
            with socket.socket(fileno=os.dup(int(name))) as found:
                if found.family == socket.AF_INET and found.getpeername()[1] == port:
                    yield found


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: its /proc and socket options")
def test_every_connection_of_a_runner_notices_a_peer_that_vanished(
    database, new_runner, monkeypatch
):
    """H03: the lease's, the listener's, those of its calls, those of its bodies."""
    monkeypatch.setattr(registry, "_bodies", {})
    pycortex.job("test")(lambda progress: 1)
    port = int(conninfo_to_dict(database)["port"])
    others = sum(1 for _ in sockets_to(port))
    runner, gate, stop = new_runner(), Gate(), threading.Event()
    thread = threading.Thread(target=Worker(runner).run, args=[stop])
    thread.start()
    runner.spawn("gate", gate)
    gate.wait_entered().connection()
    gate.progress.step(1)

    wait_until(lambda: sum(1 for _ in sockets_to(port)) >= others + 4)
    found = [
        (
            end.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
            end.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
            end.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL),
            end.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT),
            end.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
        )
        for end in sockets_to(port)
    ]

    assert found.count((1, 10, 5, 3, 15000)) >= 4
    gate.open()
    stop.set()
    thread.join(20)


@pytest.fixture
def deaf_port():
    """A port where nobody answers: its queue is full, so that the system drops what comes."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        callers = [socket.socket() for _ in range(4)]
        for caller in callers:
            caller.setblocking(False)
            with suppress(BlockingIOError):
                caller.connect(("127.0.0.1", port))
        yield port
        for caller in callers:
            caller.close()


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: elsewhere a full queue refuses")
def test_a_host_that_swallows_the_first_packet_is_given_up(deaf_port):
    conninfo = f"postgresql://somebody@127.0.0.1:{deaf_port}/app?connect_timeout=2"

    with pytest.raises(psycopg.OperationalError, match="timeout"):
        Runner(conninfo).start()
