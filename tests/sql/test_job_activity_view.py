"""The view cortex.job_activity: what the sessions of running jobs do, as PostgreSQL reports it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.cleaning import empty, module_database
from tests.sql.asking import rows, value
from tests.waiting import wait_until, wait_until_blocked

ACTIVITY = "select * from cortex.job_activity"


@pytest.fixture(scope="module")
def database(server, template):
    with module_database(server, template) as url:
        yield url


@pytest.fixture(autouse=True)
def _emptied(database):
    empty(database)


@pytest.fixture
def attached(committed, connect):
    """A session in which a job runs, and that job."""
    job = committed.make_job("running", kind="heavy")
    session = connect(autocommit=True)
    session.execute("select cortex.attach_backend(%s)", [job])
    return job, session


def activity(conn):
    [row] = rows(conn, ACTIVITY)
    return row


def test_shows_a_session_that_does_nothing(committed, attached):
    job, session = attached
    wait_until(lambda: activity(committed.conn)["state"] == "idle")

    seen = activity(committed.conn)

    assert seen == seen | {
        "job": job,
        "kind": "heavy",
        "pid": session.info.backend_pid,
        "state": "idle",
        "command": None,
        "phase": None,
        "done": None,
        "total": None,
    }
    assert seen["query_seconds"] >= 0


def test_shows_what_a_session_waits_for(committed, attached, connect):
    _, session = attached
    other = connect()
    other.execute("create table public.wanted ()")

    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(session.execute, "create table public.wanted ()")
        wait_until_blocked(committed.conn, session.info.backend_pid)
        seen = activity(committed.conn)
        other.rollback()
        call.result(30)

    assert (seen["state"], seen["wait_event_type"]) == ("active", "Lock")
    assert seen["query_seconds"] > 0


def test_shows_only_jobs_that_run(committed, attached):
    job, _ = attached

    committed.conn.execute("select cortex.finish_job(%s, 'succeeded')", [job])

    assert rows(committed.conn, ACTIVITY) == []


def test_shows_nothing_of_a_job_without_a_session(committed):
    committed.make_job("running")

    assert rows(committed.conn, ACTIVITY) == []


def test_shows_nothing_when_the_session_is_gone(committed, attached):
    _, session = attached

    session.close()

    wait_until(lambda: rows(committed.conn, ACTIVITY) == [])


def test_shows_nothing_of_a_stranger_with_the_same_pid(committed, attached):
    committed.conn.execute("update cortex.job set backend_start = backend_start - interval '1 day'")

    assert rows(committed.conn, ACTIVITY) == []


# True progress, with no code in the body


@pytest.fixture
def big(committed):
    """A table that takes PostgreSQL a moment."""
    committed.conn.execute(
        "create table public.big as"
        " select g as id, md5(g::text) as word, repeat('x', 80) as filling"
        " from generate_series(1, 150000) as g"
    )
    return committed.conn


def seen_during(observer, session, statement, wanted, tries=8):
    """
    The first row of the view that satisfies *wanted* while *statement* runs.

    The statement is run again if that was missed.
    """
    found = []

    def look(call):
        row = activity(observer)
        if wanted(row):
            found.append(row)
        return found or call.done()

    with ThreadPoolExecutor(1) as pool:
        for _ in range(tries):
            call = pool.submit(session.execute, statement)
            wait_until(lambda call=call: look(call), 60, step=0)
            call.result(60)
            if found:
                return found[0]
    raise AssertionError("the statement was too quick to be seen")


@pytest.mark.parametrize(
    ("command", "statement"),
    [
        (
            "CREATE INDEX",
            "drop index if exists public.w; create index w on public.big (word, filling)",
        ),
        (
            "CREATE INDEX CONCURRENTLY",
            "create index concurrently if not exists c on public.big (word, filling)",
        ),
        ("REINDEX", "reindex table public.big"),
    ],
)
def test_shows_the_building_of_an_index(attached, big, connect, command, statement):
    _, session = attached
    if command == "REINDEX":
        big.execute("create index r on public.big (word, filling)")
    if command == "CREATE INDEX CONCURRENTLY":
        tries = 1
        holder = connect()  # it waits for older snapshots, and so long it can be seen
        holder.execute("set transaction isolation level repeatable read")
        holder.execute("select 1")
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(session.execute, statement)
            seen = wait_until(
                lambda: (row := activity(big))["command"] == command and row["phase"] and row, 60
            )
            holder.rollback()
            call.result(60)
    else:
        tries = 8
        seen = seen_during(
            big, session, statement, lambda row: row["command"] == command and row["total"], tries
        )
        assert 0 <= seen["done"] <= seen["total"]

    assert seen["command"] == command
    assert seen["phase"]


def test_shows_an_analyze(attached, big):
    _, session = attached

    seen = seen_during(
        big, session, "analyze public.big",
        lambda row: row["command"] == "ANALYZE" and row["total"] and row["done"],
    )  # fmt: skip

    assert 0 < seen["done"] <= seen["total"]
    assert seen["phase"]


def test_shows_a_vacuum(attached, big):
    _, session = attached

    seen = seen_during(
        big, session, "vacuum (disable_page_skipping) public.big",
        lambda row: row["command"] == "VACUUM" and row["total"] and row["done"],
    )  # fmt: skip

    assert 0 < seen["done"] <= seen["total"]


def test_shows_a_cluster(attached, big):
    _, session = attached

    seen = seen_during(
        big, session, "vacuum full public.big",
        lambda row: row["command"] == "VACUUM FULL" and row["total"] and row["done"],
    )  # fmt: skip

    assert 0 < seen["done"] <= seen["total"]


def test_shows_a_copy(attached, big):
    _, session = attached

    with session.cursor() as cursor, cursor.copy("copy public.big (id) from stdin") as copy:
        for number in range(2000):
            copy.write_row([number])
        copy.write(b"7\n" * 100_000)
        seen = wait_until(
            lambda: (row := activity(big))["command"] == "COPY FROM" and row["done"] and row
        )

    assert (seen["phase"], seen["total"]) == ("PIPE", None)
    assert seen["done"] > 0


# Who may see


def test_shows_nothing_but_the_pid_of_sessions_that_are_not_for_you_to_see(
    database, committed, attached
):
    job, session = attached
    with psycopg.connect(database) as reader:
        reader.execute("set role cortex_reader")
        [seen] = rows(reader, ACTIVITY)

    assert {name: cell for name, cell in seen.items() if cell is not None} == {
        "job": job,
        "kind": "heavy",
        "pid": session.info.backend_pid,
    }


def test_shows_everything_to_who_may_see_it(database, committed, attached):
    with psycopg.connect(database) as reader:
        reader.execute("set role cortex_reader")
        with reader.transaction(force_rollback=True):
            reader.execute("reset role")
            reader.execute("grant pg_read_all_stats to cortex_reader")
            reader.execute("set role cortex_reader")
            [seen] = rows(reader, ACTIVITY)

    assert seen["state"] == "idle"
    assert value(committed.conn, "select count(*) from cortex.job_activity") == 1
