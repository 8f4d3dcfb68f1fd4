"""The twins: calls that go through unchanged, and rows that come back as objects."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb, set_json_loads

import pycortex
from pycortex import DebounceMode, JobStatus, Verdict, sql
from pycortex._call import one
from pycortex.models import RunnerJob, Spawned, StatusCount

LATER = datetime(2999, 1, 1, tzinfo=UTC)


def test_a_job_goes_through_its_life(conn):
    spawned = sql.spawn_job(
        conn,
        "test",
        actor="ada",
        params={"n": 9007199254740993, "amt": Decimal("0.10")},
        debounce_scope={"a": 1},
        debounce_on=DebounceMode.QUEUED,
        priority=3,
    )
    again = sql.spawn_job(conn, "test", debounce_scope={"a": 1.0}, debounce_on="queued")
    started = sql.set_running(conn, spawned.uuid)
    verdict = sql.step(conn, spawned.uuid, 3, 9, message="half", attempt=1)
    running = sql.find_job(conn, spawned.uuid)
    finished = sql.finish_job(conn, spawned.uuid, "succeeded", result={"done": 9}, attempt=1)
    ended = sql.find_job(conn, spawned.uuid)

    assert (spawned.created, again.created, again.uuid) == (True, False, spawned.uuid)
    assert (started, verdict, finished) == (True, Verdict.CONTINUE, True)
    assert running is not None
    assert running.status is JobStatus.RUNNING
    assert (running.progress_current, running.progress_total, running.message) == (3, 9, "half")
    assert running.params == {"n": 9007199254740993, "amt": "0.10"}
    assert (running.actor, running.priority, running.debounce_scope) == ("ada", 3, {"a": 1})
    assert ended is not None
    assert (ended.status, ended.health, ended.result) == (JobStatus.SUCCEEDED, "ok", {"done": 9})
    assert ended.finished_at is not None
    assert ended.finished_at.utcoffset() is not None


def test_a_twin_neither_commits_nor_changes_the_connection(conn):
    spawned = sql.spawn_job(conn, "test")

    conn.rollback()

    assert sql.find_job(conn, spawned.uuid) is None


def test_a_twin_answers_the_same_whatever_the_connection_likes(shared_database):
    with psycopg.connect(
        shared_database, row_factory=dict_row, cursor_factory=psycopg.RawCursor
    ) as conn:
        set_json_loads(lambda _: "mine", conn)
        spawned = sql.spawn_job(conn, "test", params={"a": [1]})
        job = sql.find_job(conn, spawned.uuid)
        conn.rollback()

    assert job is not None
    assert job.params == {"a": [1]}


def test_find_job_knows_no_unknown_job(conn):
    assert sql.find_job(conn, uuid4()) is None


def test_a_twin_of_a_worker_raises_for_an_unknown_job(conn):
    with pytest.raises(pycortex.JobNotFound) as caught:
        sql.step(conn, uuid4(), 1)

    assert caught.value.sqlstate == "JC101"


def test_spawn_job_refuses_a_time_without_a_zone(conn):
    """F06."""
    with pytest.raises(ValueError, match="time zone"):
        sql.spawn_job(conn, "test", run_at=LATER.replace(tzinfo=None))


@pytest.mark.parametrize("zone", ["America/St_Johns", "Asia/Tokyo", "UTC"])
def test_moments_are_the_same_in_every_session_time_zone(conn, zone):
    """F03, F06."""
    conn.execute("select set_config('timezone', %s, true)", [zone])

    spawned = sql.spawn_job(conn, "test", run_at=LATER)
    job = sql.find_job(conn, spawned.uuid)

    assert job is not None
    assert job.run_at == LATER
    assert job.run_at.utcoffset() is not None
    assert abs(job.created_at - sql.db_now(conn)) < timedelta(seconds=10)


def test_a_moment_that_python_cannot_hold_is_clamped(conn, make_job):
    job = make_job(created_at="-infinity", run_at="infinity")

    found = sql.find_job(conn, job)

    assert found is not None
    assert (found.created_at.year, found.run_at.year) == (1, 9999)


def test_a_number_that_python_would_not_print_is_read(conn, make_job):
    """E08: the database expands it to 100,001 digits."""
    job = make_job(params=Jsonb({}))
    conn.execute("""update cortex.job set params = '{"n": 1e100000, "x": 1e-400, "f": 0.5}'""")

    found = sql.find_job(conn, job)

    assert found is not None
    assert found.params == {"n": Decimal("1e100000"), "x": Decimal("1e-400"), "f": 0.5}


def test_finish_job_tells_nothing_recorded_from_nothing_returned(conn, make_job):
    """E15."""
    silent, empty = make_job("running"), make_job("running")

    sql.finish_job(conn, silent, "succeeded")
    sql.finish_job(conn, empty, "succeeded", result=Jsonb(None))

    rows = conn.execute(
        "select result::text from cortex.jobs where uuid in (%s, %s) order by result",
        [silent, empty],
    ).fetchall()
    assert rows == [("null",), (None,)]


def test_finish_job_cleans_its_message(conn, make_job):
    """E03."""
    job = make_job("running")

    sql.finish_job(conn, job, "failed", message="a\x00b\ud800")

    found = sql.find_job(conn, job)
    assert found is not None
    assert found.message == "a\ufffdb\ufffd"


@pytest.mark.parametrize(
    ("arguments", "error", "place"),
    [
        ({"kind": "a\x00"}, ValueError, "kind holds a NUL"),
        ({"kind": "\udcff"}, ValueError, "kind holds a NUL or a lone surrogate"),
        ({"kind": None}, TypeError, "kind is text, not None"),
        ({"kind": b"test"}, TypeError, "kind is text, not of type bytes"),
        ({"kind": 5}, TypeError, "kind is text"),
        ({"actor": "\ud800"}, ValueError, "actor holds"),
        ({"actor": 5}, TypeError, "actor is text"),
        ({"priority": 1.5}, TypeError, "priority is a whole number"),
        ({"priority": True}, TypeError, "priority is a whole number"),
        ({"priority": 2**31}, ValueError, "priority is 2147483648; it must fit in 32 bits"),
        ({"run_at": "2026-01-01"}, TypeError, "run_at is a datetime"),
        ({"run_at": date(2026, 1, 1)}, ValueError, "2026-01-01 has no time zone"),
        ({"debounce_scope": {"a": "\x00"}}, ValueError, "debounce_scope.a"),
        ({"debounce_scope": {1: 1}}, TypeError, "debounce_scope has the key 1"),
    ],
)
def test_spawn_job_names_the_argument_that_will_not_do(conn, arguments, error, place):
    """E03, E04, E09: no error of the driver's, about things that the caller never said."""
    with pytest.raises(error, match=place):
        sql.spawn_job(conn, **{"kind": "test"} | arguments)

    assert sql.spawn_job(conn, "test").created  # nothing reached the transaction


def test_arguments_may_be_what_looks_like_text_or_a_number(conn):
    """E10."""
    numpy = pytest.importorskip("numpy", reason="numpy is not installed: pip install numpy")

    class Loud(str):
        def __str__(self):
            raise RuntimeError("no")

    class Kind(StrEnum):
        TEST = "test"

    class Number:
        def __index__(self):
            return 3

    spawned = sql.spawn_job(conn, Kind.TEST, actor=Loud("ada"), priority=numpy.int64(3))
    again = sql.spawn_job(conn, Loud("test"), priority=Number())

    for job in (spawned, again):
        found = sql.find_job(conn, job.uuid)
        assert found is not None
        assert (found.kind, found.priority) == ("test", 3)
    assert len(sql.list_recent(conn, max_rows=numpy.int64(1))) == 1


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_other_texts_that_cannot_be_stored_are_named_too(conn, make_runner, text):
    """E03."""
    with pytest.raises(ValueError, match="kinds holds"):
        sql.claim_jobs(conn, make_runner(), ["test", text])
    with pytest.raises(ValueError, match="name holds"):
        sql.register_runner(conn, text, "host", 1)


def test_counts_take_hours_of_any_number_type(conn, make_job):
    """F07, Q02."""
    make_job("failed", kind="test")

    counts = sql.status_counts(conn, hours=0.5)

    assert StatusCount("test", JobStatus.FAILED, 1) in counts
    assert {count.status for count in counts if count.kind == "test"} == set(JobStatus)
    assert sql.count_recent_with_status(conn, JobStatus.FAILED, hours=Decimal("0.5")) == 1
    assert sql.count_recent_with_status(conn, "failed", hours=float("inf")) == 1
    assert sql.count_recent_with_status(conn, "failed", hours=0) == 0


def test_counts_refuse_a_window_that_makes_no_sense(conn):
    """F07."""
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        sql.status_counts(conn, hours=float("nan"))


def test_a_runner_hears_of_its_jobs(conn, make_job):
    runner = sql.register_runner(conn, "app", "host", 42)
    job = make_job("running", runner=runner)
    sql.cancel_job(conn, job, actor="bob")

    heard = sql.keep_runner(conn, runner)
    [info] = [row for row in sql.list_runners(conn) if row.uuid == runner]
    left = sql.retire_runner(conn, runner, message="bye")

    assert heard == [RunnerJob(job, Verdict.CANCEL, 1)]
    assert (info.name, info.host, info.pid, info.alive) == ("app", "host", 42, True)
    assert left == 1
    events = sql.list_events(conn, job)
    assert (events[-1].to_status, events[-1].message) == (JobStatus.INTERRUPTED, "bye")


def test_claim_jobs_takes_kinds_but_not_a_text(conn, make_job):
    runner = sql.register_runner(conn, "app", "host", 42)
    jobs = [make_job(), make_job(), make_job(kind="other")]

    claimed = sql.claim_jobs(conn, runner, ["test"], max_jobs=5)

    assert [job.uuid for job in claimed] == jobs[:2]
    assert {job.status for job in claimed} == {JobStatus.RUNNING}
    with pytest.raises(TypeError, match="sequence of names"):
        sql.claim_jobs(conn, runner, "test")


def test_spawn_jobs_keeps_the_order(conn):
    uuids = sql.spawn_jobs(conn, "test", [{"n": 1}, {"n": 2}], actor="ada")

    found = [sql.find_job(conn, uuid) for uuid in uuids]
    assert [job.params for job in found if job] == [{"n": 1}, {"n": 2}]
    assert sql.spawn_jobs(conn, "test", []) == []
    with pytest.raises(ValueError, match=r"params\[1\]\.x"):
        sql.spawn_jobs(conn, "test", [{}, {"x": float("nan")}])


@pytest.mark.parametrize("style", ["postgres", "iso_8601", "sql_standard"])
def test_configuration_reads_spans_whatever_the_session_shows(conn, style):
    conn.execute("select set_config('intervalstyle', %s, true)", [style])
    sql.configure(conn, runner_beat=timedelta(seconds=1), runner_grace="3 seconds", keep="1 day")

    found = sql.configuration(conn)

    assert (found.runner_beat, found.runner_grace) == (timedelta(seconds=1), timedelta(seconds=3))
    assert (found.stale_after, found.keep) == (timedelta(hours=2), timedelta(days=1))


def test_configure_refuses_a_beat_that_looks_like_death(conn):
    """A03."""
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        sql.configure(conn, runner_beat="5 s", runner_grace="5 s")


def test_upkeep_says_what_it_did(conn, make_job):
    sql.configure_kind(conn, "test", stale_after=timedelta(minutes=1))
    job = make_job("running", silent_for="2 minutes")

    done = sql.maintain(conn)

    assert (done.ran, done.stale) == (True, 1)
    ended = sql.find_job(conn, job)
    assert ended is not None
    assert ended.status is JobStatus.INTERRUPTED
    assert sql.interrupt_orphans(conn) == 0
    assert sql.reap_stale(conn, older_than="1 hour") == 0
    assert sql.purge_jobs(conn, older_than=timedelta(0), batch_size=10) == 1


def test_list_recent_lists_newest_first(conn, make_job):
    old, new = make_job("succeeded"), make_job()

    assert [job.uuid for job in sql.list_recent(conn, max_rows=2)] == [new, old]
    assert [job.uuid for job in sql.list_recent(conn, active_only=True)] == [new]


def test_a_row_with_more_columns_than_known_is_read(conn):
    """M13: an old worker on a newer schema."""
    conn.execute(
        "create function cortex.spawn_tomorrow() returns table (created boolean, brand_new text,"
        " uuid uuid) language sql as $$ select true, 'x', gen_random_uuid() $$"
    )

    assert one(conn, "spawn_tomorrow", Spawned).created is True


def test_every_uuid_is_a_uuid(conn):
    assert isinstance(sql.spawn_job(conn, "test").uuid, UUID)
