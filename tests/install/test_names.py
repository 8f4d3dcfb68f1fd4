"""A database and an owner whose names hold what SQL and format strings treat specially."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql

from pycortex.install import install
from pycortex.uninstall import uninstall
from tests.conftest import fresh_name
from tests.sql.life import live

ODD = """ "dou"ble" 'sin'gle' %s %I \\ ; -- é \U0001f600 """


@pytest.fixture
def oddly_named(server):
    """The URL of an empty database, as its owner; both are called oddly."""
    database, role = fresh_name("d") + ODD, fresh_name("r") + ODD
    server.execute(sql.SQL("create role {} login").format(sql.Identifier(role)))
    server.create(database)
    server.execute(
        sql.SQL("alter database {} owner to {}").format(
            sql.Identifier(database), sql.Identifier(role)
        )
    )
    yield server.url(database, user=role)
    server.drop(database)
    server.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


def test_change_nothing(oddly_named):
    """I03: installing, every call, installing again, removing all of it."""
    install(oddly_named)
    with psycopg.connect(oddly_named) as conn:
        live(conn)

    assert install(oddly_named).applied == ()
    assert uninstall(oddly_named, force=True).removed
