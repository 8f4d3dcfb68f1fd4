"""Reaching the database: odd names and passwords, the socket, IPv6; by URL and by key=value."""

from __future__ import annotations

import os
import socket

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pycortex.install import install
from tests.conftest import fresh_name
from tests.servers import LocalServer, to_url

USER = "u@er:x/y"
PASSWORD = "p@ss/w:rd#%? '\\é"


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def strict_server(own_server: LocalServer) -> LocalServer:
    """A server that asks the odd user for its password, wherever it comes from."""
    own_server.execute(
        sql.SQL("create role {} login superuser password {}").format(
            sql.Identifier(USER), sql.Literal(PASSWORD)
        )
    )
    rules = own_server.data / "pg_hba.conf"
    others = rules.read_text()
    rules.write_text(
        f'local all "{USER}" scram-sha-256\nhost all "{USER}" all scram-sha-256\n{others}'
    )
    if has_ipv6():
        own_server.configure(listen_addresses="127.0.0.1,::1")
    own_server.restart()
    return own_server


HOSTS = ["127.0.0.1", "socket", *(["::1"] if has_ipv6() else [])]


@pytest.mark.parametrize("form", ["url", "key=value"])
@pytest.mark.parametrize("host", HOSTS)
def test_installs_over_any_address_as_a_user_with_odd_characters(strict_server, host, form):
    """Case M05."""
    name = fresh_name("odd-näme/") + "'%"
    strict_server.create(name)
    params = strict_server.params | {
        "host": str(strict_server.folder) if host == "socket" else host,
        "dbname": name,
        "user": USER,
        "password": PASSWORD,
    }
    target = to_url(params) if form == "url" else make_conninfo(**params)

    done = install(target)

    with psycopg.connect(target) as conn:
        [user, schema] = conn.execute(
            "select session_user, to_regclass('cortex.job')::text"
        ).fetchone()
    assert done.applied
    assert (user, schema) == (USER, "cortex.job")


def test_does_not_let_the_password_out_when_it_is_wrong(strict_server):
    params = strict_server.params | {
        "user": USER,
        "password": "s3cret@/wrong",
        "dbname": "postgres",
    }

    with pytest.raises(psycopg.OperationalError) as caught:
        install(to_url(params))

    assert "s3cret" not in str(caught.value)


def test_takes_the_rest_from_the_environment_as_libpq_does(strict_server, monkeypatch):
    name = fresh_name("environment")
    strict_server.create(name)
    monkeypatch.setitem(os.environ, "PGHOST", "127.0.0.1")
    monkeypatch.setitem(os.environ, "PGPORT", str(strict_server.params["port"]))
    monkeypatch.setitem(os.environ, "PGUSER", USER)
    monkeypatch.setitem(os.environ, "PGPASSWORD", PASSWORD)

    done = install(f"dbname={name}")

    assert done.applied
