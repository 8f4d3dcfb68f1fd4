"""The view cortex.runners: who runs jobs, and who of them lives."""

import pytest

from tests.sql.asking import rows, value

COLUMNS = ["uuid", "name", "host", "pid", "registered_at", "seen_at", "retired_at", "alive"]
ALIVE = "select alive from cortex.runners where uuid = %s"


def test_has_the_columns_of_the_contract(conn, make_runner):
    runner = make_runner(name="w1", host="web-3", pid=99)

    [seen] = rows(conn, "select * from cortex.runners")

    assert list(seen)[: len(COLUMNS)] == COLUMNS
    assert (seen["uuid"], seen["name"], seen["host"], seen["pid"]) == (runner, "w1", "web-3", 99)


@pytest.mark.parametrize(
    ("silent_for", "alive"),
    [("0", True), ("29 seconds", True), ("31 seconds", False), ("30 days", False)],
)
def test_takes_a_silent_runner_without_a_lease_for_dead_after_the_grace(
    conn, make_runner, silent_for, alive
):
    runner = make_runner(silent_for=silent_for)

    assert value(conn, ALIVE, [runner]) is alive


def test_asks_the_settings_for_the_grace(conn, make_runner):
    conn.execute("update cortex.settings set runner_grace = '1 hour'")
    runner = make_runner(silent_for="59 minutes")

    assert value(conn, ALIVE, [runner]) is True


def test_takes_a_silent_runner_that_holds_its_lease_for_alive(conn):
    runner = value(conn, "select cortex.register_runner('a', 'h', 1)")
    conn.execute("update cortex.runner set seen_at = seen_at - interval '30 days'")

    assert value(conn, ALIVE, [runner]) is True


@pytest.mark.parametrize(
    ("lease", "share", "alive"), [(1, 2, True), (1, 0.5, False), (None, 2, False)]
)
def test_counts_silence_from_the_servers_start_where_that_ended_the_lease(
    conn, make_runner, lease, share, alive
):
    started = "select pg_postmaster_start_time() - interval '1 day'"
    before = value(conn, started)
    conn.execute(
        "update cortex.settings set runner_beat = '1 millisecond', runner_grace = interval"
        " '50 milliseconds' + %s * (clock_timestamp() - pg_postmaster_start_time())",
        [share],
    )
    runner = make_runner(registered_at=before, seen_at=before, backend_pid=lease)

    assert value(conn, ALIVE, [runner]) is alive


def test_takes_a_runner_that_retired_for_dead_at_once(conn):
    runner = value(conn, "select cortex.register_runner('a', 'h', 1)")
    conn.execute("update cortex.runner set retired_at = clock_timestamp()")

    assert value(conn, ALIVE, [runner]) is False


def test_does_not_take_somebody_elses_lock_for_the_lease(conn, make_runner):
    """Behind a pooler the session that has the number is not the runner's."""
    runner = make_runner(alive=False)
    conn.execute(
        "select pg_advisory_lock(cortex.lock_space(), lease) from cortex.runner where uuid = %s",
        [runner],
    )

    assert value(conn, ALIVE, [runner]) is False


@pytest.mark.parametrize("lock", ["pg_advisory_lock(%s::bigint)", "pg_advisory_lock(7, %s)"])
def test_does_not_take_another_kind_of_lock_for_the_lease(conn, make_runner, lock):
    """H08."""
    runner = make_runner(alive=False, backend_pid=conn.info.backend_pid)
    lease = value(conn, "select lease from cortex.runner where uuid = %s", [runner])
    conn.execute(f"select {lock}", [lease])

    assert value(conn, ALIVE, [runner]) is False


def test_takes_a_runner_that_a_clock_ahead_saw_for_alive(conn, make_runner):
    """F05: until the clock has caught up; its lease and the steps of its jobs still speak."""
    runner = make_runner(seen_at="2100-01-01 00:00:00+00")

    assert value(conn, ALIVE, [runner]) is True


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "UTC"])
def test_says_the_same_in_every_time_zone(conn, make_runner, zone):
    """F03."""
    conn.execute("select set_config('timezone', %s, true)", [zone])
    conn.execute("update cortex.settings set runner_grace = '1 day'")
    young, old = make_runner(silent_for="23 hours 59 minutes"), make_runner(silent_for="24:01")

    assert (value(conn, ALIVE, [young]), value(conn, ALIVE, [old])) == (True, False)
