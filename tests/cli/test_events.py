"""events: what happened, and what happens: no gap, nothing twice."""

from __future__ import annotations

import json
import signal

import pytest

from tests.cli.conftest import ended
from tests.waiting import wait_until


@pytest.fixture
def follow(pycortex, committed):
    """Starts `pycortex events -f --json`, ready; read() gives the lines so far."""
    started = []

    def follows():
        """It has looked, and waits for the next time."""
        return committed.conn.execute(
            "select from pg_stat_activity where application_name = 'pycortex events'"
            " and query ilike '%%snapshot%%' and state = 'idle'"
            " and state_change < clock_timestamp() - interval '0.1 s'"
        ).fetchall()

    def start(*arguments):
        path = pycortex.folder / f"events{len(started)}"
        with path.open("w") as out:
            process = pycortex.start("events", "-f", "--json", *arguments, stdout=out)
        started.append(process)
        wait_until(lambda: process.poll() is not None or follows(), what="it follows")
        assert process.poll() is None, process.communicate()[1]

        def read():
            lines = path.read_text().splitlines(keepends=True)
            return [json.loads(line) for line in lines if line.endswith("\n")]

        return process, read

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def spawn(conn, kind="demo"):
    [uuid] = conn.execute("select uuid from cortex.spawn_job(%s, 'ada')", [kind]).fetchone()
    return str(uuid)


def test_shows_what_happened_oldest_first(cli, cli_json, committed):
    job = spawn(committed.conn)
    other = spawn(committed.conn, "other")
    committed.conn.execute("select cortex.cancel_job(%s, 'ben')", [job])

    told = cli_json("events")

    assert [(event["job"], event["to_status"], event["actor"]) for event in told] == [
        (job, "queued", "ada"), (other, "queued", "ada"), (job, "cancelled", "ben"),
    ]  # fmt: skip
    assert [event["to_status"] for event in cli_json("events", job)] == ["queued", "cancelled"]
    assert [event["job"] for event in cli_json("events", "--kind", "other")] == [other]
    assert [event["to_status"] for event in cli_json("events", "--limit", "1")] == ["cancelled"]
    assert cli_json("events", "--since", "2031-01-01T00:00:00Z") == []
    assert cli("events").stdout.count("\n") == 3
    assert cli("logs").stdout == cli("events").stdout


def test_follows_what_commits_late_without_gap_or_repetition(follow, committed, connect):
    process, read = follow()
    late, early = connect(), connect()
    first = spawn(late)  # the lower number, not committed
    second = spawn(early)
    early.commit()
    wait_until(lambda: len(read()) == 1, what="the second is told")

    late.commit()
    wait_until(lambda: len(read()) == 2, what="the first is told")
    rolled_back = spawn(late)
    late.rollback()
    third = spawn(early)
    early.commit()
    wait_until(lambda: len(read()) == 3, what="the third is told")

    told = [event["job"] for event in read()]
    assert told == [second, first, third]
    assert rolled_back not in told
    process.send_signal(signal.SIGINT)
    assert ended(process) == 130
    assert "Traceback" not in process.communicate()[1]


def test_tells_what_was_under_way_at_its_start(follow, committed, connect):
    late = connect()
    first = spawn(late)
    spawn(committed.conn)
    _, read = follow("--limit", "0")

    # What is told at all came after the start.
    wait_until(lambda: spawn(committed.conn) and read(), what="it has begun to follow")

    late.commit()

    wait_until(
        lambda: first in [event["job"] for event in read()], what="what was under way is told"
    )
    told = [event["job"] for event in read()]
    assert len(told) == len(set(told))


def test_goes_on_where_it_was_when_its_session_was_ended(follow, committed):
    process, read = follow("--kind", "demo")
    before = spawn(committed.conn)
    wait_until(lambda: len(read()) == 1, what="the first is told")

    committed.conn.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where application_name = 'pycortex events'"
    )
    meanwhile = [spawn(committed.conn) for _ in range(5)]
    spawn(committed.conn, "other")

    wait_until(lambda: len(read()) == 6, what="all are told")
    assert [event["job"] for event in read()] == [before, *meanwhile]
    process.send_signal(signal.SIGTERM)
    assert ended(process) == 130
    assert "the database is back" in process.communicate()[1]


def test_refuses_a_job_that_is_not_there(cli):
    result = cli("events", "0b5f2c1e")

    assert (result.exit_code, result.stdout) == (1, "")
