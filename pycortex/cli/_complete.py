"""What a shell may put behind a command: jobs, kinds and runners, as the database knows them."""

import threading
from collections.abc import Sequence
from typing import Any

import click
import psycopg
from click.shell_completion import CompletionItem

from pycortex._conninfo import with_defaults
from pycortex.cli._output import clean
from pycortex.database import Database, resolve

__all__ = ["jobs", "kinds", "runners"]

PATIENCE = 0.7
"""Seconds; who presses the tab key waits no longer, whatever the database does."""

JOBS = """
select j.uuid::text, j.kind || ' ' || j.status
from (
    (
        select uuid, kind, status, created_at
        from (select * from cortex.jobs order by created_at desc limit 1000) as newest
        where uuid between %(first)s::uuid and %(last)s::uuid
        order by created_at desc
        limit 50
    )
    union
    (
        select uuid, kind, status, created_at
        from cortex.jobs
        where %(digits)s > 0 and uuid between %(first)s::uuid and %(last)s::uuid
        limit 50
    )
) as j
order by j.status not in ('queued', 'running'), j.created_at desc
limit 50
"""
KINDS = """
select kind, '' from cortex.kinds
union
select kind, '' from cortex.sql_kinds
union
select kind, '' from cortex.waiting
union
select kind, '' from (select kind from cortex.jobs order by created_at desc limit 1000) as newest
order by 1
"""
RUNNERS = """
select uuid::text, name || ' on ' || host
from cortex.runners
where retired_at is null and uuid::text like %(prefix)s
order by seen_at desc
limit 50
"""


def jobs(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Uuids that begin so, with kind and status; active jobs first, the newest before others."""
    digits = incomplete.lower().replace("-", "")
    if len(digits) > 32 or any(digit not in "0123456789abcdef" for digit in digits):
        return []
    values = {
        "first": digits.ljust(32, "0"),
        "last": digits.ljust(32, "f"),
        "digits": len(digits),
    }
    return _items(_ask(ctx, JOBS, values), incomplete.lower())


def kinds(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Kinds that begin so: configured ones, those with a body in SQL, those of recent jobs."""
    return _items(_ask(ctx, KINDS, {}), incomplete)


def runners(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Uuids of runners that begin so, with their names."""
    prefix = "".join(char for char in incomplete.lower() if char in "0123456789abcdef-") + "%"
    return _items(_ask(ctx, RUNNERS, {"prefix": prefix}), incomplete.lower())


def _items(rows: Sequence[tuple[str, str]], prefix: str) -> list[CompletionItem]:
    # A shell reads a line per word; what holds more than that can't be offered.
    return [
        CompletionItem(word, help=clean(words) or None)
        for word, words in rows
        if word.startswith(prefix) and word.isprintable()
    ]


def _ask(ctx: click.Context, query: str, values: dict[str, Any]) -> list[tuple[str, str]]:
    """Ask the database, in silence: no answer in time, or an error, is nothing to offer."""
    from pycortex.cli._app import App  # it imports what uses this

    answer: list[tuple[str, str]] = []

    def ask() -> None:
        try:
            database = resolve(ctx.ensure_object(App).url)
            if not _is_up(database):
                return
            conninfo = with_defaults(database.conninfo, application_name="pycortex completion")
            with psycopg.connect(conninfo, autocommit=True) as conn:
                conn.execute(f"set statement_timeout = {PATIENCE * 1000:.0f}".encode())
                answer.extend(conn.execute(query.encode(), values).fetchall())
        except Exception:  # noqa: BLE001 - nobody asked a question that an error could answer
            return

    # A thread, which is left behind when a host doesn't answer at all.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return [] if thread.is_alive() else answer


def _is_up(database: Database) -> bool:
    """Whether it can be asked without starting an embedded server."""
    return database.folder is None or (database.folder / "data" / "postmaster.pid").exists()
