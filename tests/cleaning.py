"""One database for a whole module, emptied before each of its tests: quicker than clones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.conftest import fresh_name
from tests.servers import Server

SETTINGS = [
    "stale_after", "run_timeout", "queue_timeout", "max_attempts", "backoff", "backoff_limit",
    "on_interrupt", "max_running", "keep", "cancel_grace", "runner_beat", "runner_grace",
]  # fmt: skip


@contextmanager
def module_database(server: Server, template: str) -> Iterator[str]:
    """The URL of a fresh database with everything installed, dropped at the end."""
    name = fresh_name("module")
    yield server.create(name, template)
    server.drop(name)


def empty(url: str) -> None:
    """Delete all jobs, runners and kinds, put the settings back, drop what is in schema public."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("drop schema public cascade")
        conn.execute("create schema public")
        conn.execute(
            "truncate cortex.job, cortex.event, cortex.runner, cortex.kind, cortex.turnstile"
            " restart identity"
        )
        conn.execute("select cortex.configure(reset => %s)", [SETTINGS])
