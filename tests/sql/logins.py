"""Roles that can log in, for tests of who may do what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from tests.conftest import fresh_name
from tests.servers import Server


@contextmanager
def login(server: Server, dbname: str, member_of: str | None = None) -> Iterator[str]:
    """The URL at which a new role, member of *member_of* alone, logs in to *dbname*."""
    name = fresh_name(member_of or "nobody")
    with server.connect() as conn:
        known = {role for (role,) in conn.execute("select rolname from pg_roles")}
        if member_of is not None and member_of not in known:
            pytest.skip(f"role {member_of} is missing: tests need a server where they may make it")
        try:
            conn.execute(
                sql.SQL("create role {} login password 'secret'").format(sql.Identifier(name))
            )
        except psycopg.errors.InsufficientPrivilege:
            pytest.skip("tests of rights need a server where they may create roles")
        if member_of is not None:
            conn.execute(
                sql.SQL("grant {} to {}").format(sql.Identifier(member_of), sql.Identifier(name))
            )
    try:
        yield server.url(dbname, user=name, password="secret")
    finally:
        with server.connect(dbname) as conn:
            conn.execute(sql.SQL("drop owned by {}").format(sql.Identifier(name)))
            conn.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))
