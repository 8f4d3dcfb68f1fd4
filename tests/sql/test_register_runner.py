"""cortex.register_runner: a process that will run jobs gets its handle and its lease."""

import pytest

from tests.sql.asking import refused, rows, table_of, value
from tests.waiting import wait_until

REGISTER = "select cortex.register_runner(name => %s, host => %s, pid => %s)"
LEASES = """
    select l.objid::bigint as lease, l.pid
    from pg_locks as l
    where l.locktype = 'advisory'
        and l.classid = 1668248180
        and l.database = (select oid from pg_database where datname = current_database())
        and l.objid > 0
"""


def test_enters_the_process_and_returns_its_handle(conn):
    uuid = value(conn, REGISTER, ["worker 1", "db.example", 4711])

    [runner] = table_of(conn, "runner")
    assert runner | {"lease": None} == {
        "uuid": uuid,
        "lease": None,
        "name": "worker 1",
        "host": "db.example",
        "pid": 4711,
        "backend_pid": conn.info.backend_pid,
        "registered_at": runner["registered_at"],
        "seen_at": runner["seen_at"],
        "retired_at": None,
        "kinds": None,
    }


def test_holds_its_lease_in_the_calling_session(conn):
    conn.execute(REGISTER, ["a", "h", 1])

    [runner] = table_of(conn, "runner")
    assert {"lease": runner["lease"], "pid": conn.info.backend_pid} in rows(conn, LEASES)


def test_gives_every_registration_its_own_handle_and_lease(conn):
    for _ in range(3):
        conn.execute(REGISTER, ["the same", "h", 1])

    runners = table_of(conn, "runner")
    assert len({runner["uuid"] for runner in runners}) == 3
    assert len({runner["lease"] for runner in runners}) == 3


def test_keeps_its_lease_through_commit_and_loses_it_with_the_session(connect, committed):
    """H07: a session's lock, on a connection that is kept for this alone."""
    session = connect(autocommit=True)
    uuid = value(session, REGISTER, ["a", "h", 1])
    silent = "update cortex.runner set seen_at = seen_at - interval '1 day' where uuid = %s"
    alive = "select alive from cortex.runners where uuid = %s"
    committed.conn.execute(silent, [uuid])
    before = value(committed.conn, alive, [uuid])

    session.close()

    wait_until(lambda: not rows(committed.conn, LEASES), what="the lease is free")
    assert before is True
    assert value(committed.conn, alive, [uuid]) is False


def test_is_alive_from_the_start(conn):
    uuid = value(conn, REGISTER, ["a", "h", 1])

    assert value(conn, "select alive from cortex.runners where uuid = %s", [uuid]) is True


def test_does_not_wait_for_whoever_holds_numbers_like_ours(connect):
    """H08: a key space of our own."""
    conn, other = connect(), connect()
    for key in (0, 1, 42):
        other.execute("select pg_advisory_lock(%s)", [key])
        other.execute("select pg_advisory_lock(%s, %s)", [key, key])
    conn.execute("set local lock_timeout = '1s'")

    conn.execute(REGISTER, ["a", "h", 1])

    assert len(table_of(conn, "runner")) == 1


def test_takes_the_next_number_where_somebody_holds_one_of_ours(conn, connect):
    """H08: even a stranger in our own key space."""
    [first] = rows(conn, f"select uuid from ({REGISTER}) as r (uuid)", ["a", "h", 1])
    [runner] = table_of(conn, "runner")
    stranger = connect(conn.info.dsn)
    stranger.execute("select pg_advisory_lock(cortex.lock_space(), %s)", [runner["lease"] + 1])
    conn.execute("set local lock_timeout = '1s'")

    conn.execute(REGISTER, ["b", "h", 1])

    assert first
    assert {each["lease"] for each in table_of(conn, "runner")} == {
        runner["lease"],
        runner["lease"] + 2,
    }


def test_begins_again_after_the_largest_number(conn):
    """E14: the second key of an advisory lock has four bytes."""
    conn.execute("alter table cortex.runner alter column lease restart with 2147483640")

    for _ in range(20):
        conn.execute(REGISTER, ["a", "h", 1])

    leases = {runner["lease"] for runner in table_of(conn, "runner")}
    assert (min(leases), max(leases), len(leases)) == (1, 2147483647, 20)
    assert value(conn, "select bool_and(alive) from cortex.runners") is True


@pytest.mark.parametrize("arguments", [[None, "h", 1], ["a", None, 1], ["a", "h", None]])
def test_refuses_null(conn, arguments):
    with refused(conn, "22004"):
        conn.execute(REGISTER, arguments)


@pytest.mark.parametrize("name", ["", "  ", "\n", "x" * 201])
def test_refuses_a_name_that_is_blank_or_too_long(conn, name):
    with refused(conn, "22023"):
        conn.execute(REGISTER, [name, "h", 1])

    assert table_of(conn, "runner") == []


def test_refuses_a_host_that_is_too_long(conn):
    with refused(conn, "22023"):
        conn.execute(REGISTER, ["a", "h" * 256, 1])


@pytest.mark.parametrize(("name", "host"), [("x" * 200, "h" * 255), ("é", ""), ("a", "fe80::1")])
def test_takes_names_and_hosts_up_to_their_limits(conn, name, host):
    conn.execute(REGISTER, [name, host, -1])

    [runner] = table_of(conn, "runner")
    assert (runner["name"], runner["host"]) == (name, host)
