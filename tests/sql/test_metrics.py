"""cortex.metrics: what a monitoring system wants to know, as Prometheus reads it."""

import re

from tests.sql.asking import table_of, value

METRICS = "select cortex.metrics()"
SAMPLE = re.compile(r'^(\w+)(?:\{kind="((?:[^"\\\n]|\\.)*)",status="(\w+)"\})? (\S+)$')


def samples(conn):
    """The samples by name, kind and status; every line must be one or a comment before it."""
    text = value(conn, METRICS)
    assert text.endswith("\n")
    found, declared = {}, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert kind == "gauge"
            assert name not in declared
            declared.add(name)
            continue
        name, kind, status, number = SAMPLE.match(line).groups()
        assert name in declared
        found[name, kind, status] = float(number)
    return found


def test_counts_active_jobs_by_kind_and_state(conn, make_job):
    make_job("queued", kind="a", silent_for="30 days")
    make_job("running", kind="b")
    make_job("running", kind="b")

    found = samples(conn)

    assert found["cortex_jobs_active", "a", "queued"] == 1
    assert found["cortex_jobs_active", "a", "running"] == 0
    assert found["cortex_jobs_active", "b", "running"] == 2


def test_counts_what_ended_in_the_last_hour(conn, make_job):
    make_job("failed", kind="a")
    make_job("failed", kind="a", silent_for="61 minutes")

    found = samples(conn)

    assert found["cortex_jobs_finished_last_hour", "a", "failed"] == 1
    assert found["cortex_jobs_finished_last_hour", "a", "succeeded"] == 0


def test_tells_the_age_of_the_oldest_ready_job_and_the_oldest_heartbeat(
    conn, make_job, make_runner
):
    make_job("queued", silent_for="100 seconds")
    make_job("queued", silent_for="1 day", runner=make_runner())
    make_job("queued", silent_for="1 day", run_at="2100-01-01 00:00:00+00")
    make_job("running", silent_for="200 seconds")

    found = samples(conn)

    assert 100 <= found["cortex_oldest_ready_seconds", None, None] < 110
    assert 200 <= found["cortex_oldest_heartbeat_seconds", None, None] < 210


def test_tells_how_long_ago_upkeep_ran_and_how_many_runners_live(conn, make_runner):
    make_runner()
    make_runner(alive=False)
    conn.execute("select cortex.maintain()")

    found = samples(conn)

    assert 0 <= found["cortex_last_maintenance_seconds", None, None] < 5
    assert found["cortex_runners_alive", None, None] == 1


def test_leaves_out_what_has_no_value(conn):
    found = samples(conn)

    assert found == {("cortex_runners_alive", None, None): 0}


def test_keeps_a_line_a_line_whatever_a_kind_is_called(conn, make_job):
    for kind in ('a "b"', "c:\\tmp\\", "two\nlines", "%s {} \U0001f600"):
        make_job("queued", kind=kind)

    found = samples(conn)

    kinds = {
        kind for name, kind, status in found if status == "queued" and found[name, kind, status]
    }
    assert kinds == {r"a \"b\"", r"c:\\tmp\\", r"two\nlines", "%s {} \U0001f600"}


def test_changes_nothing(conn, make_job):
    make_job("running", silent_for="3 hours")
    before = table_of(conn)
    conn.execute("set transaction read only")

    conn.execute(METRICS)

    assert table_of(conn) == before
