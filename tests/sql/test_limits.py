"""How many of a kind run at once, how long they may run, and how long they may wait."""

from __future__ import annotations

import pytest

from tests.sql.asking import job_of, rows, status_of, value

CLAIM = "select uuid from cortex.claim_jobs(runner => %s, kinds => %s, max_jobs => %s)"
START = "select cortex.set_running(%s)"


def claim(conn, runner, most=100, kinds=("test",)):
    return [row["uuid"] for row in rows(conn, CLAIM, [runner, list(kinds), most])]


# max_running


@pytest.fixture
def limited(conn):
    """Three jobs of kind "test" run at once."""
    conn.execute("select cortex.configure_kind('test', max_running => 3)")


@pytest.mark.usefixtures("limited")
def test_claim_jobs_takes_no_more_than_may_run(conn, make_job, make_runner):
    jobs = [make_job("queued") for _ in range(5)]

    taken = claim(conn, make_runner())

    assert taken == jobs[:3]
    assert claim(conn, make_runner()) == []


@pytest.mark.usefixtures("limited")
def test_a_limit_holds_over_all_runners_and_over_those_of_nobody(conn, make_job, make_runner):
    make_job("running", runner=make_runner())
    make_job("running")
    jobs = [make_job("queued") for _ in range(3)]

    assert claim(conn, make_runner()) == jobs[:1]


@pytest.mark.usefixtures("limited")
def test_set_running_starts_no_more_than_may_run(conn, make_job, make_runner):
    runner = make_runner()
    jobs = [make_job("queued", runner=runner, pinned=True) for _ in range(4)]

    started = [value(conn, START, [job]) for job in jobs]

    assert started == [True, True, True, False]
    assert status_of(conn, jobs[3]) == "queued"


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("status", ["succeeded", "failed", "cancelled"])
def test_the_end_of_a_job_makes_room_for_the_next(conn, make_job, make_runner, status):
    running = [make_job("running") for _ in range(3)]
    waiting = make_job("queued")
    assert claim(conn, make_runner()) == []

    conn.execute("select cortex.finish_job(%s, %s)", [running[0], status])

    assert claim(conn, make_runner()) == [waiting]


@pytest.mark.usefixtures("limited")
def test_a_zombie_makes_room_once_it_is_reaped(conn, make_job, make_runner):
    """D06."""
    for _ in range(3):
        make_job("running", silent_for="3 hours")
    waiting = make_job("queued")
    conn.execute("select cortex.maintain()")

    assert claim(conn, make_runner()) == [waiting]


@pytest.mark.usefixtures("limited")
def test_a_full_kind_does_not_keep_others_from_being_taken(conn, make_job, make_runner):
    """A06: what can't be taken hides nothing, however urgent it is."""
    for _ in range(3):
        make_job("running")
    for _ in range(50):
        make_job("queued", priority=9)
    other = make_job("queued", kind="other")

    assert claim(conn, make_runner(), 1, ["test", "other"]) == [other]


@pytest.mark.usefixtures("limited")
def test_kinds_with_and_without_a_limit_are_taken_in_one_order(conn, make_job, make_runner):
    conn.execute("select cortex.configure_kind('narrow', max_running => 1)")
    rank = [("test", 5), ("other", 4), ("test", 3), ("narrow", 2), ("test", 1), ("other", 0)]
    jobs = [make_job("queued", kind=kind, priority=priority) for kind, priority in rank]
    late = [make_job("queued", kind=kind, priority=-1) for kind in ("test", "narrow")]

    taken = [claim(conn, make_runner(), 4, ["test", "other", "narrow"]) for _ in range(2)]

    assert taken == [jobs[:4], jobs[4:]]
    assert [status_of(conn, job) for job in late] == ["queued", "queued"]


@pytest.mark.usefixtures("limited")
def test_a_limit_of_one_kind_is_no_limit_of_another(conn, make_job, make_runner):
    jobs = [make_job("queued", kind="other") for _ in range(5)]

    assert claim(conn, make_runner(), kinds=["other"]) == jobs


def test_the_settings_limit_every_kind_by_itself(conn, make_job, make_runner):
    conn.execute("select cortex.configure(max_running => 2)")
    conn.execute("select cortex.configure_kind('wide', max_running => 3)")
    jobs = {kind: [make_job("queued", kind=kind) for _ in range(4)] for kind in ("a", "b", "wide")}

    taken = claim(conn, make_runner(), kinds=list(jobs))

    assert sorted(taken) == sorted([*jobs["a"][:2], *jobs["b"][:2], *jobs["wide"][:3]])


@pytest.mark.usefixtures("limited")
def test_a_raised_limit_counts_at_the_next_claim(conn, make_job, make_runner):
    jobs = [make_job("queued") for _ in range(6)]
    claim(conn, make_runner())

    conn.execute("select cortex.configure_kind('test', max_running => 5)")

    assert claim(conn, make_runner()) == jobs[3:5]


@pytest.mark.usefixtures("limited")
def test_a_lowered_limit_ends_nothing_that_runs(conn, make_job, make_runner):
    running = [make_job("running") for _ in range(3)]
    make_job("queued")

    conn.execute("select cortex.configure_kind('test', max_running => 1)")

    assert claim(conn, make_runner()) == []
    assert {status_of(conn, job) for job in running} == {"running"}


@pytest.mark.usefixtures("limited")
def test_a_limit_that_is_lifted_is_none(conn, make_job, make_runner):
    jobs = [make_job("queued") for _ in range(9)]

    conn.execute("select cortex.configure_kind('test', reset => '{max_running}')")

    assert claim(conn, make_runner()) == jobs


@pytest.mark.usefixtures("limited")
def test_a_follow_up_of_a_limited_kind_waits_for_both(conn, make_job, make_runner):
    before = make_job("running", debounce_scope={})
    follow_up = make_job("queued", debounce_scope={}, debounce_on="queued", priority=9)
    other = make_job("queued")

    assert claim(conn, make_runner(), 1) == [other]
    conn.execute("select cortex.finish_job(%s, 'succeeded')", [before])
    assert claim(conn, make_runner(), 9) == [follow_up]


def test_kinds_that_differ_in_one_letter_have_limits_of_their_own(conn, make_job, make_runner):
    """I02, I03."""
    kinds = ["x" * 199 + end for end in "ab"]
    for kind in kinds:
        conn.execute("select cortex.configure_kind(%s, max_running => 1)", [kind])
    jobs = [make_job("queued", kind=kind) for kind in kinds for _ in range(2)]

    assert claim(conn, make_runner(), kinds=kinds) == jobs[0::2]


# run_timeout


@pytest.fixture
def hour(conn):
    """Jobs of kind "test" may run for an hour, and wait for an hour."""
    conn.execute(
        "select cortex.configure_kind('test', run_timeout => '1 hour', queue_timeout => '1 hour')"
    )


def overdue(conn):
    [did] = rows(conn, "select overdue, stale, orphaned from cortex.maintain()")
    return did["overdue"]


RAN = {"started_at": "2020-01-01 00:00:00+00"}


@pytest.mark.usefixtures("hour")
def test_a_job_that_runs_for_too_long_is_ended_however_alive_it_is(conn, make_job, make_runner):
    job = make_job("running", runner=make_runner(), **RAN)
    before = job_of(conn, job)

    count = overdue(conn)

    after = job_of(conn, job)
    assert count == 1
    assert after == before | {
        "status": "interrupted",
        "message": "running for over 60 minutes, its run_timeout; interrupted",
        "finished_at": after["finished_at"],
    }


@pytest.mark.usefixtures("hour")
def test_a_job_within_its_time_is_left_alone(conn, make_job):
    conn.execute("update cortex.settings set stale_after = '1 year'")
    job = make_job("running", silent_for="59 minutes")

    assert overdue(conn) == 0
    assert status_of(conn, job) == "running"


@pytest.mark.usefixtures("hour")
def test_a_kind_without_a_limit_may_run_for_ever(conn, make_job):
    job = make_job("running", kind="other", **RAN)

    assert overdue(conn) == 0
    assert status_of(conn, job) == "running"


def test_the_settings_say_how_long_where_a_kind_does_not(conn, make_job):
    conn.execute("select cortex.configure(run_timeout => '1 hour')")
    conn.execute("select cortex.configure_kind('long', run_timeout => '1000 years')")
    jobs = [make_job("running", kind=kind, **RAN) for kind in ("test", "long")]

    assert overdue(conn) == 1
    assert [status_of(conn, job) for job in jobs] == ["interrupted", "running"]


@pytest.mark.usefixtures("hour")
def test_listing_shows_no_overdue_job_as_live(conn, make_job):
    """A11."""
    make_job("running", **RAN)

    assert value(conn, "select status from cortex.list_recent()") == "interrupted"


@pytest.mark.usefixtures("hour")
def test_the_runner_hears_that_its_job_is_overdue(conn, make_job, make_runner):
    runner = make_runner()
    job = make_job("running", runner=runner, **RAN)
    overdue(conn)

    assert value(conn, "select cortex.step(%s, 1)", [job]) == "stop"
    [verdict] = rows(conn, "select * from cortex.keep_runner(%s)", [runner])
    assert verdict == {"job": job, "verdict": "stop", "attempt": 1, "hard": True}


@pytest.mark.usefixtures("hour")
def test_an_overdue_body_that_ends_after_all_corrects_its_row(conn, make_job):
    job = make_job("running", **RAN)
    overdue(conn)

    assert value(conn, "select cortex.finish_job(%s, 'succeeded', attempt => 1)", [job]) is True
    assert status_of(conn, job) == "succeeded"


@pytest.mark.usefixtures("hour")
def test_each_attempt_has_its_own_time(conn, make_job):
    conn.execute(
        "select cortex.configure_kind('test', max_attempts => 2, on_interrupt => 'requeue')"
    )
    job = make_job("running", **RAN)
    overdue(conn)
    conn.execute("update cortex.job set run_at = clock_timestamp()")
    assert value(conn, START, [job]) is True

    assert overdue(conn) == 0
    assert status_of(conn, job) == "running"


# queue_timeout


@pytest.mark.usefixtures("hour")
def test_a_job_that_nobody_takes_is_ended(conn, make_job):
    """A07: with a limit and a reason of its own."""
    job = make_job("queued", silent_for="61 minutes")
    before = job_of(conn, job)

    count = overdue(conn)

    after = job_of(conn, job)
    assert count == 1
    assert after == before | {
        "status": "interrupted",
        "message": "nobody started it within 60 minutes, its queue_timeout; interrupted",
        "finished_at": after["finished_at"],
    }


@pytest.mark.usefixtures("hour")
def test_a_job_that_waits_within_its_time_is_left_alone(conn, make_job):
    job = make_job("queued", silent_for="59 minutes")

    assert overdue(conn) == 0
    assert status_of(conn, job) == "queued"


@pytest.mark.usefixtures("hour")
def test_the_wait_counts_from_run_at(conn, make_job):
    ahead = make_job("queued", silent_for="1 day", run_at="2100-01-01 00:00:00+00")
    due = make_job("queued", silent_for="1 day")
    conn.execute(
        "update cortex.job set run_at = clock_timestamp() - interval '59 minutes' where uuid = %s",
        [due],
    )

    assert overdue(conn) == 0
    assert {status_of(conn, job) for job in (ahead, due)} == {"queued"}


@pytest.mark.usefixtures("hour")
def test_a_follow_up_waits_for_the_job_before_it_as_long_as_it_takes(conn, make_job):
    make_job("running", debounce_scope={})
    follow_up = make_job("queued", debounce_scope={}, debounce_on="queued", silent_for="1 day")

    assert overdue(conn) == 0
    assert status_of(conn, follow_up) == "queued"


@pytest.mark.usefixtures("hour")
def test_a_follow_up_has_its_time_from_the_end_of_the_job_before_it(conn, make_job):
    before = make_job("running", debounce_scope={}, silent_for="1 day")
    follow_up = make_job("queued", debounce_scope={}, debounce_on="queued", silent_for="1 day")
    conn.execute("select cortex.finish_job(%s, 'succeeded')", [before])

    assert overdue(conn) == 0
    assert status_of(conn, follow_up) == "queued"


@pytest.mark.usefixtures("hour")
def test_a_follow_up_that_nobody_takes_is_ended_too(conn, make_job):
    make_job("succeeded", debounce_scope={}, silent_for="61 minutes")
    make_job("succeeded", debounce_scope={"other": 1})
    follow_up = make_job("queued", debounce_scope={}, debounce_on="queued", silent_for="1 day")

    assert overdue(conn) == 1
    assert status_of(conn, follow_up) == "interrupted"


@pytest.mark.usefixtures("hour")
def test_a_job_of_a_runner_waits_for_that_runner(conn, make_job, make_runner):
    job = make_job("queued", runner=make_runner(), pinned=True, silent_for="1 day")

    assert overdue(conn) == 0
    assert status_of(conn, job) == "queued"


@pytest.mark.usefixtures("hour")
def test_an_end_in_the_queue_frees_the_scope(conn, make_job):
    make_job("queued", debounce_scope={}, silent_for="1 day")
    overdue(conn)

    [answer] = rows(conn, "select * from cortex.spawn_job('test', debounce_scope => '{}')")

    assert answer["created"] is True


@pytest.mark.usefixtures("hour")
def test_overdue_jobs_are_ended_with_the_others_at_once(conn, make_job, make_runner):
    make_job("running", **RAN)
    make_job("queued", silent_for="1 day")
    make_job("running", silent_for="3 hours", kind="other")
    make_job("running", runner=make_runner(alive=False), kind="other")

    [did] = rows(conn, "select stale, overdue, orphaned from cortex.maintain()")

    assert did == {"stale": 1, "overdue": 2, "orphaned": 1}
    assert value(conn, "select overdue from cortex.upkeep_record") == 2


def test_nothing_is_looked_for_where_nobody_sets_a_limit(conn, make_job):
    make_job("running", kind="other", **RAN)
    make_job("queued", silent_for="1000 days")

    assert value(conn, "select cortex.reap_overdue()") == 0


def test_a_limit_older_than_time_itself_ends_nothing(conn, make_job):
    """D10."""
    conn.execute(
        "select cortex.configure(run_timeout => '7000 years', queue_timeout => '7000 years')"
    )
    make_job("running", **RAN)
    make_job("queued", silent_for="1000 days")

    assert overdue(conn) == 0
