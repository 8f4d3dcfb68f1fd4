"""cortex.purge_jobs: finished jobs that are older than anybody wants to keep them."""

import pytest

from tests.sql.asking import refused, rows, table_of, value

PURGE = "select cortex.purge_jobs()"
PURGE_OLDER = "select cortex.purge_jobs(older_than => %s::interval)"
PURGE_BATCH = "select cortex.purge_jobs(older_than => '1 hour', batch_size => %s)"


def left(conn):
    return [job["uuid"] for job in table_of(conn)]


@pytest.mark.parametrize("status", ["succeeded", "failed", "interrupted", "cancelled"])
def test_deletes_what_ended_longer_ago(conn, make_job, status):
    make_job(status, silent_for="61 minutes")
    young = make_job(status, silent_for="59 minutes")

    answer = value(conn, PURGE_OLDER, ["1 hour"])

    assert answer == 1
    assert left(conn) == [young]


@pytest.mark.parametrize("status", ["queued", "running"])
def test_never_deletes_what_is_active(conn, make_job, status):
    """Q05."""
    make_job(status, silent_for="10 years")
    before = table_of(conn)

    answer = value(conn, PURGE_OLDER, ["1 hour"])

    assert answer == 0
    assert table_of(conn) == before


def test_takes_their_events_along(conn, make_job):
    make_job("succeeded", silent_for="2 hours")
    kept = make_job("queued")

    conn.execute(PURGE_OLDER, ["1 hour"])

    assert rows(conn, "select job from cortex.job_events") == [{"job": kept}]
    assert len(table_of(conn, "event")) == 1


def test_keeps_everything_unless_somebody_says_how_long(conn, make_job):
    make_job("succeeded", silent_for="30 years")

    assert value(conn, PURGE) == 0


def test_keeps_as_long_as_the_settings_say(conn, make_job):
    conn.execute("update cortex.settings set keep = '7 days'")
    make_job("succeeded", silent_for="8 days")
    young = make_job("succeeded", silent_for="6 days")

    answer = value(conn, PURGE)

    assert answer == 1
    assert left(conn) == [young]


def test_keeps_a_kind_as_long_as_it_says_itself(conn, make_job):
    conn.execute("update cortex.settings set keep = '7 days'")
    conn.execute("insert into cortex.kind (name, keep) values ('audit', '1 year'), ('noise', '0')")
    conn.execute("insert into cortex.kind (name, stale_after) values ('plain', '1 hour')")
    audit = make_job("succeeded", kind="audit", silent_for="30 days")
    make_job("succeeded", kind="noise", silent_for="1 second")
    make_job("succeeded", kind="plain", silent_for="8 days")

    answer = value(conn, PURGE)

    assert answer == 2
    assert left(conn) == [audit]


def test_purges_a_kind_that_alone_says_how_long(conn, make_job):
    conn.execute("insert into cortex.kind (name, keep) values ('noise', '1 hour')")
    make_job("succeeded", kind="noise", silent_for="2 hours")
    other = make_job("succeeded", silent_for="10 years")

    answer = value(conn, PURGE)

    assert answer == 1
    assert left(conn) == [other]


def test_asks_no_kind_when_it_is_told_an_age(conn, make_job):
    conn.execute("insert into cortex.kind (name, keep) values ('audit', '1 year')")
    make_job("succeeded", kind="audit", silent_for="2 hours")

    assert value(conn, PURGE_OLDER, ["1 hour"]) == 1


def test_goes_by_when_a_job_ended_not_when_it_was_made(conn, make_job):
    make_job("succeeded", created_at="2000-01-01 00:00:00+00")

    assert value(conn, PURGE_OLDER, ["1 hour"]) == 0


def test_deletes_one_batch_oldest_first(conn, make_job):
    """Q05."""
    jobs = [make_job("failed", silent_for=f"{hours} hours") for hours in (5, 4, 3, 2)]

    answers = [value(conn, PURGE_BATCH, [3])]
    after_one = left(conn)
    answers += [value(conn, PURGE_BATCH, [3]) for _ in range(2)]

    assert answers == [3, 1, 0]
    assert after_one == jobs[3:]


def test_deletes_no_more_than_a_batch_whatever_the_plan(conn, make_job):
    """With these settings a limit below the delete would run again for every row."""
    for hours in (5, 4, 3, 2):
        make_job("failed", silent_for=f"{hours} hours")
    for choice in ("enable_hashjoin", "enable_mergejoin", "enable_material"):
        conn.execute(f"set local {choice} = off")

    answers = [value(conn, PURGE_BATCH, [3]) for _ in range(3)]

    assert answers == [3, 1, 0]


def test_takes_zero_as_everything_that_is_over(conn, make_job):
    make_job("succeeded")
    active = make_job("running")

    answer = value(conn, PURGE_OLDER, ["0"])

    assert answer == 1
    assert left(conn) == [active]


@pytest.mark.parametrize("older_than", ["-1 second", "1 day -25 hours"])
def test_refuses_a_negative_age(conn, make_job, older_than):
    make_job("succeeded", silent_for="10 years")

    with refused(conn, "22023"):
        conn.execute(PURGE_OLDER, [older_than])

    assert len(left(conn)) == 1


@pytest.mark.parametrize("batch_size", [0, -1])
def test_refuses_a_batch_of_less_than_one(conn, batch_size):
    with refused(conn, "22023"):
        conn.execute(PURGE_BATCH, [batch_size])


def test_reads_null_as_the_defaults(conn, make_job):
    make_job("succeeded", silent_for="2 hours")

    nothing = value(conn, "select cortex.purge_jobs(older_than => null, batch_size => null)")
    one = value(conn, PURGE_BATCH, [None])

    assert (nothing, one) == (0, 1)


def test_takes_a_year_for_a_year_whatever_other_kinds_say(conn, make_job):
    """As an interval compares, a year would be 360 days; as a span of time it is 365.25."""
    conn.execute("select cortex.configure(keep => '1 day')")
    conn.execute("select cortex.configure_kind('books', keep => '1 year')")
    make_job("succeeded", kind="books", silent_for="366 days")
    kept = make_job("succeeded", kind="books", silent_for="364 days")

    assert value(conn, PURGE) == 1

    assert left(conn) == [kept]


@pytest.mark.parametrize("age", ["1000 years", "7000 years", "100000000 years"])
def test_takes_an_age_older_than_time_itself(conn, make_job, age):
    """D10: nothing is as old, and nothing overflows."""
    make_job("succeeded", silent_for="300 days")
    conn.execute("update cortex.settings set keep = %s::interval", [age])
    conn.execute("insert into cortex.kind (name, keep) values ('test', %s::interval)", [age])

    told, settled = value(conn, PURGE_OLDER, [age]), value(conn, PURGE)

    assert (told, settled) == (0, 0)


@pytest.mark.parametrize("days", [100, 150, 200, 250])
def test_reads_a_day_as_24_hours_in_every_time_zone(conn, make_job, days):
    """F03: some of these spans hold a day of 23 or 25 hours in New York, whatever today is."""
    conn.execute("set local timezone = 'America/New_York'")
    make_job("succeeded", silent_for=f"{days * 24} hours 1 minute")
    inside = make_job("succeeded", silent_for=f"{days * 24 - 1} hours 59 minutes")

    answer = value(conn, PURGE_OLDER, [f"{days} days"])

    assert answer == 1
    assert left(conn) == [inside]


def test_goes_round_a_row_that_somebody_has_locked(committed, connect):
    locked = committed.make_job("succeeded", silent_for="2 hours")
    committed.make_job("succeeded", silent_for="2 hours")
    holder = connect()
    holder.execute("select from cortex.job where uuid = %s for update", [locked])

    answer = value(committed.conn, PURGE_OLDER, ["1 hour"])

    assert answer == 1
    assert left(committed.conn) == [locked]


def test_leaves_a_debounced_scope_as_it_was(conn, make_job):
    """Q05: only active jobs debounce, and those are never purged."""
    active = make_job("running", debounce_scope={})
    make_job("succeeded", debounce_scope={}, silent_for="2 hours")

    conn.execute(PURGE_OLDER, ["1 hour"])

    again = rows(conn, "select * from cortex.spawn_job('test', debounce_scope => '{}')")
    assert again == [{"uuid": active, "created": False}]


def test_works_beyond_the_largest_int4(conn, make_job):
    """E14."""
    conn.execute("alter table cortex.job alter column id restart with 2147483646")
    for _ in range(4):
        make_job("succeeded", silent_for="2 hours")

    assert value(conn, PURGE_OLDER, ["1 hour"]) == 4
