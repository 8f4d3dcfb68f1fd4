"""A host that takes connections and never answers; and what the worker's log quotes."""

from __future__ import annotations

import json
import logging
import socket

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pycortex.cli._log import _Lines
from pycortex.cli._reach import look_for


@pytest.fixture
def nowhere_url():
    """A port that answers no packet: its queue is full, so that the system drops what comes."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        address = deaf.getsockname()
        held = [socket.socket() for _ in range(4)]
        for sock in held:
            sock.setblocking(False)
            sock.connect_ex(address)
        yield f"postgresql://ada:geheim@127.0.0.1:{address[1]}/db"
        for sock in held:
            sock.close()


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("spawn", "hello"),
        ("watch",),
        ("wait", "0b5f2c1e"),
        ("events",),
        ("doctor",),
        ("schedule",),
        ("reindex", "cortex.job"),
        ("worker", "--check"),
        ("install",),
    ],
    ids=" ".join,
)
def test_ends_soon_where_no_host_is(pycortex, nowhere_url, words):
    """Else it would wait for connect_timeout, which a test would notice: it is ten seconds."""
    result = pycortex(*words, env={"PYCORTEX_DATABASE_URL": nowhere_url})

    assert result.returncode == 3
    assert "no answer within a second" in result.stderr
    assert "connect_timeout" in result.stderr
    assert "geheim" not in result.stderr


@pytest.mark.parametrize("where", ["in the URL", "in the environment"])
def test_waits_as_long_as_it_was_told(pycortex, nowhere_url, where):
    limit = "?connect_timeout=2" if where == "in the URL" else ""
    environment = {} if limit else {"PGCONNECT_TIMEOUT": "2"}

    result = pycortex("list", env={"PYCORTEX_DATABASE_URL": nowhere_url + limit} | environment)

    assert result.returncode == 3
    assert "giving up after 2 s" in result.stderr
    assert "within a second" not in result.stderr


def test_finds_the_one_of_several_hosts_that_is_there(database, nowhere_url):
    gone, there = conninfo_to_dict(nowhere_url), conninfo_to_dict(database)
    both = there | {"host": "127.0.0.1,127.0.0.1", "port": f"{gone['port']},{there['port']}"}

    look_for(make_conninfo(**both))

    both["port"] = f"{gone['port']},{gone['port']}"
    with pytest.raises(psycopg.OperationalError, match=r"port \d+ and .*no answer"):
        look_for(make_conninfo(**both))


def test_says_what_it_waits_for_and_for_how_long(pycortex):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"postgresql://ada:geheim@127.0.0.1:{mute.getsockname()[1]}/db?connect_timeout=2"

        result = pycortex("list", env={"PYCORTEX_DATABASE_URL": url})

    waits, ends = result.stderr.splitlines()
    assert "giving up after 2 s" in waits
    assert "out of reach" in ends
    assert result.returncode == 3
    assert "geheim" not in result.stderr


def test_log_lines_quote_what_is_no_single_word():
    record = logging.LogRecord("pycortex", logging.INFO, "f", 1, "job started", (), None)
    record.kind, record.actor = 'night "ly" = export\n', "ada"

    line = _Lines().format(record)

    assert " actor=ada" in line
    assert f" kind={json.dumps(record.kind)}" in line
    assert "\n" not in line
