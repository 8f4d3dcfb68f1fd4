"""A database that an ordinary role owns and installed, and an application beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import sql

from pycortex.install import install
from tests.conftest import fresh_name
from tests.servers import Server


@dataclass(frozen=True, slots=True)
class Owned:
    """
    Where to log in, and as whom.

    Attributes:
        owner: The URL of the owner of schema cortex, who is no superuser.
        app: The URL of a member of cortex_runner.
        admin: The URL of a superuser.
        owner_name: The owner's role.
        app_name: The application's role.
    """

    owner: str
    app: str
    admin: str
    owner_name: str
    app_name: str


@contextmanager
def owned_database(server: Server) -> Iterator[Owned]:
    """Install as an ordinary role into a fresh database; all of it is gone afterwards."""
    name = fresh_name("owned")
    owner, app = f"pycortex_{os.getpid()}_owner", f"pycortex_{os.getpid()}_app"
    server.create(name)
    try:
        with server.connect() as conn:
            for role in (owner, app):
                conn.execute(
                    sql.SQL("create role {} login password 'secret'").format(sql.Identifier(role))
                )
            conn.execute(
                sql.SQL("grant create on database {} to {}").format(
                    sql.Identifier(name), sql.Identifier(owner)
                )
            )
            if not conn.execute("select to_regrole('cortex_runner')").fetchone()[0]:
                conn.execute("create role cortex_runner")
            conn.execute(sql.SQL("grant cortex_runner to {}").format(sql.Identifier(app)))
    except psycopg.errors.InsufficientPrivilege:
        server.drop(name)
        pytest.skip("tests of owners need a server where they may create roles")
    try:
        urls = [server.url(name, user=role, password="secret") for role in (owner, app)]
        install(urls[0])
        yield Owned(*urls, server.url(name), owner, app)
    finally:
        server.drop(name)
        with server.connect() as conn:
            for role in (app, owner):
                conn.execute(sql.SQL("drop role if exists {}").format(sql.Identifier(role)))
