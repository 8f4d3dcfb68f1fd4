"""The view cortex.jobs: the read-only face of a job."""

import pytest

from tests.sql.asking import rows, value

CONTRACT = {
    "uuid": "uuid",
    "kind": "text",
    "status": "cortex.job_status",
    "health": "text",
    "progress_current": "bigint",
    "progress_total": "bigint",
    "message": "text",
    "actor": "text",
    "params": "jsonb",
    "result": "jsonb",
    "created_at": "timestamp with time zone",
    "updated_at": "timestamp with time zone",
    "started_at": "timestamp with time zone",
    "finished_at": "timestamp with time zone",
    "duration_seconds": "double precision",
    "seconds_since_update": "double precision",
    "attempt": "integer",
    "priority": "integer",
    "run_at": "timestamp with time zone",
    "debounce_scope": "jsonb",
    "runner": "uuid",
    "cancel_requested_at": "timestamp with time zone",
    "cancel_requested_by": "text",
}


def job_seen(conn, job):
    [seen] = rows(conn, "select * from cortex.jobs where uuid = %s", [job])
    return seen


def columns_of(conn, relation):
    return {
        row["name"]: row["type"]
        for row in rows(
            conn,
            "select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute"
            " where attrelid = %s::regclass and attnum > 0 and not attisdropped order by attnum",
            [relation],
        )
    }


def test_has_the_columns_of_the_contract_in_order(conn):
    """Columns may be added at the end."""
    columns = columns_of(conn, "cortex.jobs")

    assert list(columns.items())[: len(CONTRACT)] == list(CONTRACT.items())


def test_calls_its_columns_as_the_table_does(conn):
    computed = {"health", "duration_seconds", "seconds_since_update"}

    table = columns_of(conn, "cortex.job")

    assert set(CONTRACT) - set(table) == computed


def test_has_no_time_without_a_zone_in_the_whole_schema(conn):
    """F03."""
    naive = rows(
        conn,
        "select c.relname, a.attname"
        " from pg_attribute as a join pg_class as c on c.oid = a.attrelid"
        " where c.relnamespace = 'cortex'::regnamespace"
        " and a.atttypid in ('timestamp'::regtype, 'time'::regtype)",
    )

    assert naive == []


def test_has_no_key_of_jobs_that_fits_into_four_bytes(conn):
    """E14."""
    types = rows(
        conn,
        "select attrelid::regclass::text as of, attname as name,"
        " format_type(atttypid, null) as type from pg_attribute"
        " where attrelid in ('cortex.job'::regclass, 'cortex.event'::regclass)"
        " and attname in ('id', 'job_id', 'progress_current', 'progress_total')",
    )

    assert len(types) == 5
    assert {row["type"] for row in types} == {"bigint"}


@pytest.mark.parametrize(
    ("status", "health"),
    [
        ("queued", "pending"),
        ("running", "running"),
        ("succeeded", "ok"),
        ("failed", "failed"),
        ("interrupted", "interrupted"),
        ("cancelled", "cancelled"),
    ],
)
def test_has_a_health_for_every_state(conn, make_job, status, health):
    """Q02."""
    job = make_job(status)

    assert job_seen(conn, job)["health"] == health


def test_has_a_health_for_every_label_of_the_enum(conn):
    states = value(conn, "select count(*) from unnest(enum_range(null::cortex.job_status))")

    assert states == 6


def test_measures_an_ended_job_from_start_to_finish(conn, make_job):
    job = make_job(
        "succeeded",
        created_at="2020-01-01 00:00:00+00",
        started_at="2020-01-01 01:00:00+00",
        finished_at="2020-01-01 01:00:01.5+00",
        updated_at="2021-01-01 00:00:00+00",
    )

    assert job_seen(conn, job)["duration_seconds"] == 1.5


def test_measures_a_running_job_to_its_last_update(conn, make_job):
    job = make_job(
        "running", started_at="2020-01-01 00:00:00+00", updated_at="2020-01-01 00:00:07+00"
    )

    assert job_seen(conn, job)["duration_seconds"] == 7


@pytest.mark.parametrize("status", ["queued", "cancelled"])
def test_measures_nothing_before_the_start(conn, make_job, status):
    job = make_job(status, silent_for="1 hour")

    assert job_seen(conn, job)["duration_seconds"] == 0


@pytest.mark.parametrize("status", ["queued", "running", "succeeded"])
def test_tells_how_long_ago_the_last_sign_of_life_was(conn, make_job, status):
    job = make_job(status, silent_for="90 seconds")

    assert 90 <= job_seen(conn, job)["seconds_since_update"] < 92


def test_has_no_negative_ages_where_the_clock_went_back(conn, make_job):
    """F05."""
    ahead = "2100-01-01 00:00:00+00"
    running = make_job("running", started_at=ahead, updated_at="2020-01-01 00:00:00+00")
    queued = make_job("queued", created_at=ahead, updated_at=ahead, run_at=ahead)

    seen = [job_seen(conn, running), job_seen(conn, queued)]

    assert [job["duration_seconds"] for job in seen] == [0, 0]
    assert seen[1]["seconds_since_update"] == 0


def test_tells_a_json_null_from_no_result(conn, make_job):
    """E15."""
    job = make_job("succeeded")
    conn.execute("update cortex.job set result = 'null' where uuid = %s", [job])
    none = make_job("succeeded")

    nulls = "select uuid, result is null as none from cortex.jobs order by none"
    assert rows(conn, nulls) == [{"uuid": job, "none": False}, {"uuid": none, "none": True}]


@pytest.mark.parametrize(("current", "total"), [(5, 0), (-1, 10), (11, 10), (5, None), (0, 0)])
def test_divides_nothing(conn, make_job, current, total):
    """E12."""
    job = make_job("running", progress_current=current, progress_total=total)

    seen = job_seen(conn, job)

    assert (seen["progress_current"], seen["progress_total"]) == (current, total)


@pytest.mark.parametrize("kind", ["a_b", "aXb", "100%", r"c:\tmp"])
def test_finds_a_kind_to_the_letter(conn, make_job, kind):
    """I03."""
    kinds = ("a_b", "aXb", "100%", "100 %", r"c:\tmp", "c:tmp")
    jobs = {each: make_job(kind=each) for each in kinds}

    found = rows(conn, "select uuid from cortex.jobs where kind = %s", [kind])

    assert found == [{"uuid": jobs[kind]}]


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "UTC"])
def test_shows_the_same_instants_in_every_time_zone(conn, zone):
    """F03: a whole life in one session zone, every time within this second or so."""
    conn.execute("select set_config('timezone', %s, true)", [zone])
    before = value(conn, "select clock_timestamp()")
    job = value(conn, "select uuid from cortex.spawn_job('test')")
    conn.execute("select cortex.set_running(%s)", [job])
    conn.execute("select cortex.step(%s, 1)", [job])
    conn.execute("select cortex.finish_job(%s, 'succeeded')", [job])
    after = value(conn, "select clock_timestamp()")

    seen = job_seen(conn, job)

    lived = ["created_at", "started_at", "updated_at", "finished_at"]
    times = [before, *(seen[name] for name in lived), after]
    assert times == sorted(times)
    assert seen["run_at"] == seen["created_at"]
    at = rows(conn, "select at from cortex.job_events where job = %s order by at", [job])
    assert all(before <= event["at"] <= after for event in at)


PAGE = """
    select uuid, created_at from cortex.jobs
    where (created_at, uuid) < (%s::timestamptz, %s::uuid)
    order by created_at desc, uuid desc
    limit 10
"""


def test_can_be_paged_through_while_jobs_come_in(conn, make_job):
    """Q04: by a key, so that no row comes twice and none is left out; ten share each moment."""
    there = {
        make_job("queued", created_at=f"2020-01-01 00:{minute:02}:00+00")
        for minute in range(10)
        for _ in range(10)
    }

    seen, last = [], ("infinity", "ffffffff-ffff-ffff-ffff-ffffffffffff")
    while page := conn.execute(PAGE, last).fetchall():
        seen += [uuid for uuid, _ in page]
        last = (page[-1][1], page[-1][0])
        make_job("queued")
        make_job("queued", created_at="2020-01-01 00:05:00+00")

    assert len(seen) == len(set(seen))
    assert there <= set(seen)
