"""Roles with settings and limits of their own."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.runners import Gate
from tests.servers import to_url
from tests.waiting import wait_until

pytestmark = pytest.mark.fault("settings of the role")


@pytest.fixture
def role(database, committed):
    """Makes a role with these options; gives the URL of `database` for it."""
    params = conninfo_to_dict(database)
    name = f"cortex_test_{committed.conn.info.backend_pid}"

    def make(options):
        committed.conn.execute(f"create role {name} login {options}")
        if "password" in params:
            committed.conn.execute(f"alter role {name} password '{params['password']}'")
        return to_url(params | {"user": name})

    make.name = name
    yield make
    left = "select from pg_stat_activity where usename = %s"
    wait_until(lambda: not committed.conn.execute(left, [name]).fetchall())
    committed.conn.execute(f"drop role if exists {name}")


@pytest.mark.parametrize(
    "setting",
    [
        "default_transaction_isolation = 'serializable'",
        "default_transaction_isolation = 'repeatable read'",
        "statement_timeout = '2s'",
        "lock_timeout = '100ms'",
        "idle_in_transaction_session_timeout = '100ms'",
        "datestyle = 'German, DMY'",
        "intervalstyle = 'iso_8601'",
        "timezone = 'America/St_Johns'",
        "search_path = 'nowhere'",
        "client_encoding = 'LATIN1'",
    ],
)
def test_a_role_with_settings_of_its_own_runs_jobs(role, committed, new_runner, setting, ledger):
    """H06."""
    ledger.fault()
    conninfo = role("superuser")
    committed.conn.execute(f"alter role {role.name} set {setting}")
    runner = new_runner(conninfo)

    def body(progress):
        progress.step(1, 2, "Ω")
        return progress.params

    handles = [runner.spawn("test", body, params={"é": "Ω"}) for _ in range(5)]

    assert [handle.wait(20).result for handle in handles] == [{"é": "Ω"}] * 5
    runner.shutdown(0)


def taken(conninfo):
    """A connection, as soon as the server has noticed that others were closed."""
    with suppress(psycopg.OperationalError):
        return psycopg.connect(conninfo)


def too_many(conninfo):
    """Whether the server names the limit."""
    try:
        psycopg.connect(conninfo).close()
    except psycopg.OperationalError as error:
        return "too many connections" in str(error)
    return False


@pytest.mark.fault("connection limits")
def test_too_many_connections_are_named_and_waited_for(role, new_runner, caplog, ledger):
    """H14."""
    conninfo = role("in role cortex_admin connection limit 3")
    runner = new_runner(conninfo)
    gate = Gate()
    handle = runner.spawn("test", gate)
    gate.wait_entered()
    ledger.fault()
    runner._pool.close()  # so that the end needs a connection that isn't to be had
    greedy = [wait_until(partial(taken, conninfo)) for _ in range(2)]
    wait_until(lambda: too_many(conninfo))

    gate.open()
    wait_until(lambda: "too many connections" in caplog.text)
    for conn in greedy:
        conn.close()

    assert handle.wait(20).result == "passed"
    runner.shutdown(0)
