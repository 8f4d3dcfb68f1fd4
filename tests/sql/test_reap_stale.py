"""cortex.reap_stale: running jobs that have been silent for too long are presumed hung."""

import pytest

from tests.sql.asking import job_of, refused, status_of, table_of, value

REAP = "select cortex.reap_stale()"
REAP_OLDER = "select cortex.reap_stale(older_than => %s::interval)"


def test_ends_a_job_that_has_been_silent_for_two_hours(conn, make_job, make_runner):
    """A01: with the database alone."""
    job = make_job("running", silent_for="2 hours 1 second", runner=make_runner(), message="page 3")
    before = job_of(conn, job)

    answer = value(conn, REAP)

    after = job_of(conn, job)
    assert answer == 1
    assert after == before | {
        "status": "interrupted",
        "message": "no progress for over 120 minutes; presumed stalled",
        "finished_at": after["finished_at"],
    }
    assert after["finished_at"] > before["updated_at"]


@pytest.mark.parametrize("silent_for", ["0", "119 minutes 59 seconds", "-10 minutes"])
def test_leaves_a_job_that_was_heard_of_in_time(conn, make_job, silent_for):
    job = make_job("running", silent_for=silent_for)
    before = job_of(conn, job)

    answer = value(conn, REAP)

    assert answer == 0
    assert job_of(conn, job) == before


@pytest.mark.parametrize("status", ["succeeded", "failed", "interrupted", "cancelled"])
def test_leaves_what_is_over_as_it_is(conn, make_job, status):
    job = make_job(status, silent_for="30 days")
    before = job_of(conn, job)

    answer = value(conn, REAP)

    assert answer == 0
    assert job_of(conn, job) == before


def test_leaves_what_waits_for_a_worker_for_days(conn, make_job):
    """A07."""
    for _ in range(20):
        make_job("queued", silent_for="30 days")
    before = table_of(conn)

    answer = value(conn, REAP)

    assert answer == 0
    assert table_of(conn) == before


def test_leaves_what_waits_for_a_runner_that_lives(conn, make_job, make_runner):
    job = make_job("queued", silent_for="30 days", runner=make_runner())

    answer = value(conn, REAP)

    assert answer == 0
    assert status_of(conn, job) == "queued"


def test_leaves_what_has_its_time_ahead(conn, make_job, make_runner):
    gone = make_runner(alive=False)
    job = make_job("queued", silent_for="30 days", runner=gone, run_at="2100-01-01 00:00:00+00")

    answer = value(conn, REAP)

    assert answer == 0
    assert status_of(conn, job) == "queued"


def test_ends_what_waits_for_a_runner_that_is_gone(conn, make_job, make_runner):
    job = make_job("queued", silent_for="3 hours", runner=make_runner(alive=False))

    answer = value(conn, REAP)

    assert answer == 1
    assert status_of(conn, job) == "interrupted"


def test_ends_a_silent_job_also_where_its_runner_lives(conn, make_job, make_runner):
    """Policy 9: the runner's beat speaks for the process, the steps for the work."""
    job = make_job("running", silent_for="3 hours", runner=make_runner())

    answer = value(conn, REAP)

    assert answer == 1
    assert status_of(conn, job) == "interrupted"


def test_takes_the_limit_that_it_is_told(conn, make_job):
    old, young = make_job("running", silent_for="11 s"), make_job("running", silent_for="9 s")

    answer = value(conn, REAP_OLDER, ["10 seconds"])

    assert answer == 1
    assert "10 seconds" in job_of(conn, old)["message"]
    assert status_of(conn, young) == "running"


def test_takes_the_limit_that_it_is_told_for_every_kind(conn, make_job):
    conn.execute("insert into cortex.kind (name, stale_after) values ('patient', '1 week')")
    job = make_job("running", kind="patient", silent_for="11 seconds")

    conn.execute(REAP_OLDER, ["10 seconds"])

    assert status_of(conn, job) == "interrupted"


def test_takes_the_limit_of_the_kind_before_the_one_of_the_settings(conn, make_job):
    conn.execute("insert into cortex.kind (name, stale_after) values ('quick', '1 minute')")
    conn.execute("insert into cortex.kind (name, stale_after) values ('patient', '1 day')")
    quick = make_job("running", kind="quick", silent_for="2 minutes")
    patient = make_job("running", kind="patient", silent_for="3 hours")
    other = make_job("running", kind="other", silent_for="2 minutes")

    answer = value(conn, REAP)

    assert answer == 1
    assert "1 minute;" in job_of(conn, quick)["message"]
    assert status_of(conn, patient) == status_of(conn, other) == "running"


def test_takes_the_limit_of_the_settings(conn, make_job):
    conn.execute("update cortex.settings set stale_after = '90 seconds'")
    job = make_job("running", silent_for="91 seconds")

    answer = value(conn, REAP)

    assert answer == 1
    assert "90 seconds" in job_of(conn, job)["message"]


def test_finds_the_stale_one_behind_any_number_of_exempt_ones(conn, make_job):
    """A06."""
    conn.execute("insert into cortex.kind (name, stale_after) values ('patient', '10 years')")
    conn.execute(
        """
        insert into cortex.job (kind, status, started_at, updated_at)
        select 'patient', 'running', now() - interval '1 day', now() - interval '1 day'
        from generate_series(1, 2000)
        """
    )
    job = make_job("running", silent_for="3 hours")

    answer = value(conn, REAP)

    assert answer == 1
    assert status_of(conn, job) == "interrupted"


@pytest.mark.parametrize("older_than", ["0", "-1 second", "1 day -25 hours"])
def test_refuses_a_limit_that_is_not_above_zero(conn, make_job, older_than):
    """D10."""
    make_job("running", silent_for="3 hours")
    before = table_of(conn)

    with refused(conn, "22023"):
        conn.execute(REAP_OLDER, [older_than])

    assert table_of(conn) == before


@pytest.mark.parametrize("older_than", ["1000 years", "7000 years", "100000000 years"])
def test_takes_a_limit_older_than_time_itself(conn, make_job, older_than):
    """D10: nothing is as old, and nothing overflows."""
    make_job("running", silent_for="3 hours")

    assert value(conn, REAP_OLDER, [older_than]) == 0


def test_takes_a_setting_older_than_time_itself(conn, make_job):
    """D10: who never wants a job reaped may say so."""
    conn.execute("insert into cortex.kind (name, stale_after) values ('patient', '7000 years')")
    conn.execute("update cortex.settings set stale_after = '100000000 years'")
    make_job("running", silent_for="300 days", kind="patient", debounce_scope={})
    make_job("running", silent_for="300 days")

    answer = value(conn, REAP)

    debounced = value(
        conn, "select not created from cortex.spawn_job('patient', debounce_scope => '{}')"
    )
    assert answer == 0
    assert debounced is True


@pytest.mark.parametrize("older_than", ["0.5 seconds", "1 month", "1 year"])
def test_says_in_words_how_long_was_too_long(conn, make_job, older_than):
    job = make_job("running", silent_for="3 years")

    conn.execute(REAP_OLDER, [older_than])

    said = {"0.5 seconds": "0.5 seconds", "1 month": "43200 minutes", "1 year": "525960 minutes"}
    assert said[older_than] in job_of(conn, job)["message"]


@pytest.mark.parametrize("days", [100, 150, 200, 250])
def test_reads_a_day_as_24_hours_in_every_time_zone(conn, make_job, days):
    """F03: some of these spans hold a day of 23 or 25 hours in New York, whatever today is."""
    conn.execute("set local timezone = 'America/New_York'")
    conn.execute(
        "insert into cortex.kind (name, stale_after) values ('test', make_interval(days => %s))",
        [days],
    )
    inside = make_job("running", silent_for=f"{days * 24 - 1} hours 59 minutes")
    outside = make_job("running", silent_for=f"{days * 24} hours 1 minute")

    answer = value(conn, REAP)

    assert answer == 1
    assert (status_of(conn, inside), status_of(conn, outside)) == ("running", "interrupted")


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_ends_the_same_jobs_in_every_time_zone(conn, make_job, zone):
    """F03."""
    conn.execute("select set_config('timezone', %s, true)", [zone])
    old = make_job("running", silent_for="121 minutes")
    young = make_job("running", silent_for="119 minutes")

    conn.execute(REAP)

    assert (status_of(conn, old), status_of(conn, young)) == ("interrupted", "running")


def test_goes_round_a_row_that_somebody_has_locked(committed, connect):
    """G04."""
    locked = committed.make_job("running", silent_for="3 hours")
    free = committed.make_job("running", silent_for="3 hours")
    holder = connect()
    holder.execute("select from cortex.job where uuid = %s for update", [locked])

    answer = value(committed.conn, REAP)

    assert answer == 1
    assert status_of(committed.conn, free) == "interrupted"
    assert status_of(committed.conn, locked) == "running"


def test_ends_a_job_that_a_clock_ahead_started(conn, make_job):
    """F05."""
    job = make_job("running", silent_for="3 hours", started_at="2100-01-01 00:00:00+00")

    answer = value(conn, REAP)

    after = job_of(conn, job)
    assert answer == 1
    assert after["finished_at"] == after["started_at"]


def test_may_be_repeated(conn, make_job):
    make_job("running", silent_for="3 hours")
    conn.execute(REAP)
    before = table_of(conn), table_of(conn, "event")

    answer = value(conn, REAP)

    assert answer == 0
    assert (table_of(conn), table_of(conn, "event")) == before


def test_leaves_every_round_of_a_poison_job_its_own_row(conn, make_job):
    """A12: reaped and spawned again, round after round."""
    for _ in range(5):
        make_job("running", silent_for="3 hours", debounce_scope={})
        conn.execute("select cortex.spawn_job('test', debounce_scope => '{}')")
        conn.execute(
            "update cortex.job set status = 'cancelled', finished_at = now()"
            " where status = 'queued'"
        )

    states = [job["status"] for job in table_of(conn)]
    assert states.count("interrupted") == 5
    assert "running" not in states
